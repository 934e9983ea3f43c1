// A model chosen at run time, for models that stand on another one: model:pagealign-list over
// ptmalloc, say. One virtual call per call; models behind a backend of their own have none.
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
  virtual void set_time(uint64_t time_ns) = 0;
  virtual std::vector<AddressRange> absent() const = 0;
  virtual std::vector<Counter> counters() const = 0;
  virtual uint64_t work() const = 0;
  virtual const char* work_unit() const = 0;
  virtual BackendTraits traits() const = 0;
};

// Names of the models that others can stand on, the default first. Parameter "base" of a wrapper
// takes them as its choices.
std::vector<std::string> base_model_names();

// The counters of a model's base, with "base." before their names.
void append_base_counters(std::vector<Counter>& list, const AnyModel& base);

// `index` into base_model_names(); the model has its default parameters. It maps from kModelBase.
std::unique_ptr<AnyModel> make_base_model(uint64_t index, AddressSpace& space);

}  // namespace heaptape::allocators
