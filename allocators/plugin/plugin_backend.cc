#include "allocators/plugin/plugin_backend.h"

#include <bit>

#include "allocators/models/model_backend.h"

namespace heaptape::allocators {

using base::Error;

namespace {

constexpr uint64_t kCheckOn = 1;  // among the choices of kCheckParameter

// The beginning of messages.
std::string owner_of(const Plugin& plugin, const std::string& spec) {
  return "'" + spec + "' (" + plugin.name + ")";
}

// Never destroys the model, and keeps it reachable for leak checkers.
void abandon(void* model) {
  static auto* const models = new std::vector<void*>;
  models->push_back(model);
}

}  // namespace

PluginModel::PluginModel(AddressSpace& space, Plugin plugin, const std::vector<uint64_t>& values,
                         HeapChecks::Blocks blocks, std::string owner)
    : plugin_(std::move(plugin)),
      owner_(std::move(owner)),
      host_side_(std::make_unique<HostSide>(space, traits().granule_log2, blocks)),
      host_{sizeof host_, HEAPTAPE_PLUGIN_ABI, host_side_.get(), kModelBase, kWrapperBase, commit,
            decommit,     add_absent,          give_up} {
  model_ = table_.create(&host_, values.data());
  if (model_ == nullptr) host_side_->checks.fail("returned NULL from create() and did not say why");
}

// Code known to be wrong should not run again: a crash would hide the message about it.
PluginModel::~PluginModel() {
  host_side_->phase = Phase::kEnding;
  if (has_fault()) {
    abandon(model_);
  } else {
    table_.destroy(model_);
  }
}

BackendTraits PluginModel::traits() const {
  const uint32_t granule = table_.granule_bytes;
  return {.granule_log2 = std::countr_zero(granule),
          .min_hole_bytes = table_.min_hole_bytes != 0 ? table_.min_hole_bytes : granule};
}

// The block is removed while the plug-in works, so that its memory may be given back; if it stays,
// it must still have its memory.
Placement PluginModel::reallocate(uint64_t address, uint64_t bytes) {
  const AddressRange old = host_side_->checks.take(address);
  const Placement placed = accept(table_.reallocate(model_, address, bytes), bytes, 0);
  if (placed.address == 0) host_side_->checks.put_back(old);
  return placed;
}

std::vector<AddressRange> PluginModel::absent() const {
  if (table_.report_absent == nullptr || has_fault()) return {};
  HostSide& side = *host_side_;
  side.absent.clear();
  side.phase = Phase::kReport;
  table_.report_absent(model_);
  side.phase = Phase::kChange;
  if (!has_fault()) side.checks.absent(side.absent);
  return side.absent;
}

std::vector<Counter> PluginModel::counters() const {
  std::vector<Counter> counters;
  if (plugin_.counter_names.empty()) return counters;
  std::vector<uint64_t> values(plugin_.counter_names.size());
  host_side_->phase = Phase::kNothing;
  table_.read_counters(model_, values.data());
  host_side_->phase = Phase::kChange;
  for (size_t i = 0; i < values.size(); ++i) {
    counters.push_back({plugin_.counter_names[i], values[i]});
  }
  return counters;
}

uint64_t PluginModel::work() const {
  if (table_.work == nullptr) return 0;
  HostSide& side = *host_side_;
  side.phase = Phase::kNothing;
  const uint64_t work = table_.work(model_);
  side.phase = Phase::kChange;
  if (work < side.last_work) [[unlikely]] {
    side.checks.fail("counted " + std::to_string(work) + " " + plugin_.work_unit + " after " +
                     std::to_string(side.last_work));
    return side.last_work;
  }
  return side.last_work = work;
}

void PluginModel::audit() {
  if (table_.live_blocks == nullptr || has_fault()) return;
  host_side_->phase = Phase::kNothing;
  const uint64_t theirs = table_.live_blocks(model_);
  host_side_->phase = Phase::kChange;
  const uint64_t ours = host_side_->checks.live_blocks();
  if (theirs == ours) return;
  host_side_->checks.fail("counts " + std::to_string(theirs) + " live blocks where there are " +
                          std::to_string(ours));
}

Error PluginModel::fault(uint64_t event) const {
  const std::string when =
      event == 0 ? ": when it was made, it " : ": at event " + std::to_string(event) + " it ";
  return Error::target(owner_ + when + host_side_->checks.fault()).at_event(event);
}

bool PluginModel::may(HostSide& side, Phase phase, const char* what) {
  if (side.phase == phase) return true;
  if (side.phase != Phase::kEnding) {
    side.checks.fail(std::string("called ") + what + "() where the interface does not allow it");
  }
  return false;
}

void PluginModel::commit(void* context, uint64_t begin, uint64_t end) {
  auto& side = *static_cast<HostSide*>(context);
  if (!may(side, Phase::kChange, "commit")) return;
  if (side.checks.commit({begin, end})) side.space.commit({begin, end});
}

void PluginModel::decommit(void* context, uint64_t begin, uint64_t end) {
  auto& side = *static_cast<HostSide*>(context);
  if (!may(side, Phase::kChange, "decommit")) return;
  if (side.checks.decommit({begin, end})) side.space.decommit({begin, end});
}

void PluginModel::add_absent(void* context, uint64_t begin, uint64_t end) {
  auto& side = *static_cast<HostSide*>(context);
  if (may(side, Phase::kReport, "absent")) side.absent.push_back({begin, end});
}

void PluginModel::give_up(void* context, const char* sentence) {
  auto& side = *static_cast<HostSide*>(context);
  side.checks.fail(std::string("gave up: ") +
                   (sentence == nullptr || *sentence == 0 ? "it did not say why" : sentence));
}

Result<base::Values> plugin_options(const Plugin& plugin, const std::string& spec,
                                    const std::vector<std::string>& sets) {
  std::vector<base::Parameter> parameters = plugin.parameters;
  parameters.push_back({.name = kCheckParameter,
                        .value = kCheckOn,
                        .description = "whether blocks are checked",
                        .choices = {"off", "on"}});
  return base::parse_values(owner_of(plugin, spec), parameters, sets);
}

std::unique_ptr<Backend> make_plugin_backend(const Plugin& plugin, const std::string& spec,
                                             const base::Values& options) {
  std::vector<uint64_t> values;
  for (const base::Parameter& parameter : plugin.parameters) {
    values.push_back(options[parameter.name]);
  }
  const auto blocks = options[kCheckParameter] == kCheckOn ? HeapChecks::Blocks::kChecked
                                                           : HeapChecks::Blocks::kBelieved;
  return std::make_unique<ModelBackend<PluginModel>>(plugin, values, blocks,
                                                     owner_of(plugin, spec));
}

}  // namespace heaptape::allocators
