// A model chosen at run time, for models built on another one: model:pagealign-list over ptmalloc,
// say. One virtual call per call; models behind a backend of their own have none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocators/models/model.h"

namespace heaptape::allocators {

// As AllocatorModel says.
class AnyModel {
 public:
  virtual ~AnyModel() = default;
  virtual Placement allocate(uint64_t bytes, uint64_t alignment) = 0;
  virtual Placement allocate_zeroed(uint64_t bytes) = 0;
  virtual Placement reallocate(uint64_t address, uint64_t bytes) = 0;
  virtual void release(uint64_t address) = 0;
  virtual void set_thread(uint32_t thread) = 0;
  virtual void end_thread(uint32_t thread) = 0;
  virtual void set_time(uint64_t time_ns) = 0;
  virtual std::vector<AddressRange> absent() const = 0;
  virtual std::vector<Counter> counters() const = 0;
  virtual uint64_t work() const = 0;
  virtual const char* work_unit() const = 0;
  virtual BackendTraits traits() const = 0;
};

// Names of the models that others can be built on, the default first.
std::vector<std::string> base_model_names();

// Parameter "base" of a model built on another one, and the model that it names, with default
// parameters, mapping from kModelBase.
base::Parameter base_model_parameter(std::string description);
std::unique_ptr<AnyModel> make_base_model(const base::Values& options, AddressSpace& space);

// The counters of a model's base, their names prefixed with "base.".
void append_base_counters(std::vector<Counter>& list, const AnyModel& base);

}  // namespace heaptape::allocators
