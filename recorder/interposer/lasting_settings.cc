#include "recorder/interposer/lasting_settings.h"

namespace heaptape::recorder {

constinit LastingSettings lasting_settings = {};

void LastingSettings::note(schema::SteeringOp op, int64_t first, int64_t second) {
  if (!schema::is_inherited(op)) return;
  const schema::SteeringInfo info = schema::steering_info(op);
  // The first of two arguments says which of several settings.
  const uint64_t which = info.arguments == 2 ? static_cast<uint32_t>(first) : 0;
  const uint64_t key = kTaken | static_cast<uint64_t>(op) << kOpShift | which;
  for (Setting& setting : settings_) {
    uint64_t found = 0;
    if (!setting.key.compare_exchange_strong(found, key) && found != key) continue;
    setting.first = first;
    setting.second = second;
    setting.order = ++last_order_;
    return;
  }
}

const LastingSettings::Setting* LastingSettings::after(uint64_t order) const {
  const Setting* next = nullptr;
  for (const Setting& setting : settings_) {
    const uint64_t own = setting.order.load();
    if (own > order && (next == nullptr || own < next->order.load())) next = &setting;
  }
  return next;
}

}  // namespace heaptape::recorder
