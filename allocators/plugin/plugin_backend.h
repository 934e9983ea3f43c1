// Puts a model from a plug-in behind the Backend contract.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocators/models/model.h"
#include "allocators/plugin/heap_checks.h"
#include "allocators/plugin/plugin_loader.h"

namespace heaptape::allocators {

// A model like heaptape's own (model.h): each call goes to the plug-in, and everything the plug-in
// does during it is checked. After the first fault, nothing it says is used.
class PluginModel {
 public:
  // `owner` begins the sentences about its faults: "'plugin:./libmine.so' (mine)".
  PluginModel(AddressSpace& space, Plugin plugin, const std::vector<uint64_t>& values,
              HeapChecks::Blocks blocks, std::string owner);
  ~PluginModel();
  PluginModel(const PluginModel&) = delete;
  PluginModel& operator=(const PluginModel&) = delete;

  Placement allocate(uint64_t bytes, uint64_t alignment) {
    return accept(table_.allocate(model_, bytes, alignment, 0), bytes, alignment);
  }
  Placement allocate_zeroed(uint64_t bytes) {
    return accept(table_.allocate(model_, bytes, 0, HEAPTAPE_ZEROED), bytes, 0);
  }
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address) {
    host_side_->checks.take(address);
    table_.release(model_, address);
  }
  void set_thread(uint32_t thread) {
    if (table_.set_thread != nullptr) table_.set_thread(model_, thread);
  }
  void set_time(uint64_t time_ns) {
    if (table_.set_time != nullptr) table_.set_time(model_, time_ns);
  }

  std::vector<AddressRange> absent() const;
  std::vector<Counter> counters() const;
  uint64_t work() const;
  const char* work_unit() const { return plugin_.work_unit.c_str(); }
  BackendTraits traits() const;

  // Between batches: checks that the plug-in's count of live blocks is the tape's.
  void audit();
  bool has_fault() const { return host_side_->checks.has_fault(); }
  base::Error fault(uint64_t event) const;

 private:
  // The calls allowed to the plug-in now.
  enum class Phase : uint8_t { kChange, kReport, kNothing, kEnding };

  // The other end of heaptape_host::context.
  struct HostSide {
    HostSide(AddressSpace& address_space, int granule_log2, HeapChecks::Blocks blocks)
        : space(address_space), checks(granule_log2, {kModelBase, kWrapperBase}, blocks) {}

    AddressSpace& space;
    HeapChecks checks;
    Phase phase = Phase::kChange;
    std::vector<AddressRange> absent;
    uint64_t last_work = 0;
  };
  static void commit(void* context, uint64_t begin, uint64_t end);
  static void decommit(void* context, uint64_t begin, uint64_t end);
  static void add_absent(void* context, uint64_t begin, uint64_t end);
  static void give_up(void* context, const char* sentence);
  static bool may(HostSide& side, Phase phase, const char* what);

  Placement accept(heaptape_block block, uint64_t bytes, uint64_t alignment) {
    const Placement placed{block.address, block.usable_bytes};
    if (placed.address != 0) host_side_->checks.place(placed, bytes, alignment);
    return placed;
  }

  Plugin plugin_;
  const heaptape_plugin& table_ = plugin_.table;
  std::string owner_;
  std::unique_ptr<HostSide> host_side_;
  heaptape_host host_;
  void* model_ = nullptr;
};

// Applies `sets` ("name=value" each) to the plug-in's parameters and our own, kCheckParameter.
// `spec` is the user's text, for messages. Fails with kUsage.
Result<base::Values> plugin_options(const Plugin& plugin, const std::string& spec,
                                    const std::vector<std::string>& sets);

// A model of the plug-in; `options` are from plugin_options().
std::unique_ptr<Backend> make_plugin_backend(const Plugin& plugin, const std::string& spec,
                                             const base::Values& options);

}  // namespace heaptape::allocators
