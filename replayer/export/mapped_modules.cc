#include "replayer/export/mapped_modules.h"

#include <algorithm>

#include "schema/tape/stack_end.h"

namespace heaptape::replayer {

MappedModules::MappedModules(const ShownStacks& stacks) {
  for (const schema::CodeMapping& mapping : stacks.of_tape().mappings()) add(mapping);
  find_addresses(stacks);
}

void MappedModules::add(const schema::CodeMapping& mapping) {
  const auto [it, is_new] = by_path_.try_emplace(mapping.path, static_cast<uint32_t>(list_.size()));
  if (is_new) {
    list_.push_back({mapping.path, mapping.range.begin, mapping.range.end, mapping.file_offset,
                     mapping.build_id});
  }
  MappedModule& module = list_[it->second];
  if (mapping.range.begin < module.begin) {
    module.begin = mapping.range.begin;
    module.file_offset = mapping.file_offset;
  }
  module.end = std::max(module.end, mapping.range.end);
}

void MappedModules::find_addresses(const ShownStacks& stacks) {
  addresses_.resize(stacks.symbols().places().size());
  for (schema::FrameNumber number = stacks.of_tape().limit() - 1; number > 0; --number) {
    const schema::Frame* const frame = stacks.of_tape().find(number);
    if (frame == nullptr || frame->return_address < schema::kStackEnds) continue;
    addresses_[stacks.symbols().index_of(number)] = frame->return_address - 1;
  }
}

}  // namespace heaptape::replayer
