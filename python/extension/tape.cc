// heaptape._native.Tape: the facts about a tape, and its tables.
#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <utility>

#include "python/extension/table.h"
#include "python/extension/tape_facts.h"
#include "python/tables/tape_tables.h"
#include "schema/tape/tape_reader.h"

namespace nb = nanobind;

namespace heaptape::python {
namespace {

// Keeps no file open: a program may have thousands of these.
class Tape {
 public:
  Tape(const nb::bytes& path, bool skip_damage)
      : place_{{path.c_str(), path.size()},
               skip_damage ? schema::OnDamage::kSkip : schema::OnDamage::kStop} {
    const schema::TapeReader reader = open();
    facts_ = tape_facts(reader);
    damages_ = damage_list(reader);
  }

  nb::dict facts() const { return facts_; }
  nb::list damages() const { return damages_; }

  Table events() const {
    return Table([place = place_] { return value_or_throw(open_events(place)); });
  }
  Table blocks() const {
    return Table([place = place_, cache = sites_] {
      return value_or_throw(open_blocks(place, cache->get(place)));
    });
  }
  Table samples() const {
    return Table([place = place_] { return value_or_throw(open_samples(place)); });
  }
  Table sample_owners() const {
    return Table([place = place_] { return value_or_throw(open_sample_owners(place)); });
  }
  Table marks() const {
    return Table([place = place_] { return value_or_throw(open_marks(place)); });
  }
  Table mapping_calls() const {
    return Table([place = place_] { return value_or_throw(open_mapping_calls(place)); });
  }
  Table steering_calls() const {
    return Table([place = place_] { return value_or_throw(open_steering_calls(place)); });
  }
  Table sites() const {
    return Table([place = place_, cache = sites_] { return open_sites(cache->get(place)); });
  }
  Table stacks() const {
    return Table([place = place_, cache = sites_] { return open_stacks(cache->get(place)); });
  }

 private:
  // Reads the sites once, on first use. Any thread; without the GIL.
  class SitesCache {
   public:
    std::shared_ptr<const TapeSites> get(const TapePath& place) {
      const std::lock_guard lock(mutex_);
      if (!is_read_) sites_ = value_or_throw(TapeSites::read(place.path, place.on_damage));
      is_read_ = true;
      return sites_;
    }

   private:
    std::mutex mutex_;
    std::shared_ptr<const TapeSites> sites_;
    bool is_read_ = false;
  };

  schema::TapeReader open() const {
    const nb::gil_scoped_release unlocked;
    return value_or_throw(schema::TapeReader::open(place_.path, place_.on_damage));
  }

  TapePath place_;
  nb::dict facts_;
  nb::list damages_;
  std::shared_ptr<SitesCache> sites_ = std::make_shared<SitesCache>();
};

}  // namespace

void add_tape(nb::module_& module) {
  nb::class_<Tape>(module, "Tape")
      .def(nb::init<const nb::bytes&, bool>(), nb::arg("path"), nb::arg("skip_damage"))
      .def("facts", &Tape::facts)
      .def("damages", &Tape::damages)
      .def("events", &Tape::events)
      .def("blocks", &Tape::blocks)
      .def("samples", &Tape::samples)
      .def("sample_owners", &Tape::sample_owners)
      .def("marks", &Tape::marks)
      .def("mapping_calls", &Tape::mapping_calls)
      .def("steering_calls", &Tape::steering_calls)
      .def("sites", &Tape::sites)
      .def("stacks", &Tape::stacks);
}

}  // namespace heaptape::python
