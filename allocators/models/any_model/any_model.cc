#include "allocators/models/any_model/any_model.h"

#include <utility>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "allocators/models/runs/runs_model.h"
#include "allocators/models/textbook/buddy_heap.h"
#include "allocators/models/textbook/bump_heap.h"
#include "allocators/models/textbook/fit_heap.h"

namespace heaptape::allocators {
namespace {

template <AllocatorModel Model>
class Adapter final : public AnyModel {
 public:
  explicit Adapter(AddressSpace& space) : model_(space, base::Values(Model::parameters())) {}

  Placement allocate(uint64_t bytes, uint64_t alignment) override {
    return model_.allocate(bytes, alignment);
  }
  Placement allocate_zeroed(uint64_t bytes) override { return model_.allocate_zeroed(bytes); }
  Placement reallocate(uint64_t address, uint64_t bytes) override {
    return model_.reallocate(address, bytes);
  }
  void release(uint64_t address) override { model_.release(address); }
  void set_thread(uint32_t thread) override {
    if constexpr (requires { model_.set_thread(thread); }) model_.set_thread(thread);
  }
  void end_thread(uint32_t thread) override {
    if constexpr (requires { model_.end_thread(thread); }) model_.end_thread(thread);
  }
  void set_time(uint64_t time_ns) override {
    if constexpr (requires { model_.set_time(time_ns); }) model_.set_time(time_ns);
  }
  std::vector<AddressRange> absent() const override { return model_.absent(); }
  std::vector<Counter> counters() const override { return model_.counters(); }
  uint64_t work() const override { return model_.work(); }
  const char* work_unit() const override { return model_.work_unit(); }
  BackendTraits traits() const override { return model_.traits(); }

 private:
  Model model_;
};

template <AllocatorModel Model>
std::unique_ptr<AnyModel> make(AddressSpace& space) {
  return std::make_unique<Adapter<Model>>(space);
}

struct BaseModel {
  const char* name;
  std::unique_ptr<AnyModel> (*make)(AddressSpace& space);
};
constexpr BaseModel kBaseModels[] = {
    {"ptmalloc", make<PtmallocModel>},  {"runs", make<RunsModel>},
    {"first-fit", make<FirstFitModel>}, {"best-fit", make<BestFitModel>},
    {"buddy", make<BuddyModel>},        {"bump", make<BumpModel>},
};

}  // namespace

std::vector<std::string> base_model_names() {
  std::vector<std::string> names;
  for (const BaseModel& model : kBaseModels) names.push_back(model.name);
  return names;
}

void append_base_counters(std::vector<Counter>& list, const AnyModel& base) {
  for (const Counter& counter : base.counters()) {
    list.push_back({"base." + counter.name, counter.value});
  }
}

base::Parameter base_model_parameter(std::string description) {
  return {"base", 0, std::move(description), base_model_names()};
}

std::unique_ptr<AnyModel> make_base_model(const base::Values& options, AddressSpace& space) {
  return kBaseModels[options["base"]].make(space);
}

}  // namespace heaptape::allocators
