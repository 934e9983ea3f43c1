#include "replayer/symbols/dwarf_unit.h"

#include <dwarf.h>

#include <algorithm>

namespace heaptape::replayer {
namespace {

// No compiler nests deeper than this.
constexpr int kDeepest = 500;
// Nor takes more steps from code to its function's declaration.
constexpr int kMostOrigins = 16;

bool is_scope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_interface_type;
}

bool may_hold_code(int tag) {
  return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
         tag == DW_TAG_common_block || tag == DW_TAG_with_stmt;
}

std::string own_name(Dwarf_Die entry) {
  const char* const name = dwarf_diename(&entry);
  if (name != nullptr) return name;
  return dwarf_tag(&entry) == DW_TAG_namespace ? "(anonymous namespace)" : "";
}

// The entry that `entry` is an instance or the definition of, if any.
bool go_to_origin(Dwarf_Die& entry) {
  for (const unsigned kind : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    if (dwarf_attr(&entry, kind, &attribute) == nullptr) continue;
    if (dwarf_formref_die(&attribute, &origin) == nullptr) continue;
    entry = origin;
    return true;
  }
  return false;
}

}  // namespace

std::vector<base::AddressRange> code_ranges(Dwarf_Die& entry) {
  std::vector<base::AddressRange> ranges;
  Dwarf_Addr base = 0;
  base::AddressRange range;
  ptrdiff_t next = 0;
  while ((next = dwarf_ranges(&entry, next, &base, &range.begin, &range.end)) > 0) {
    const bool is_discarded = range.begin <= 1;  // how linkers mark it
    if (!is_discarded && range.begin < range.end) ranges.push_back(range);
  }
  return ranges;
}

UnitFunctions::UnitFunctions(Dwarf_Die& unit, std::span<const uint64_t> addresses)
    : addresses_(addresses), innermost_(addresses.size(), kNone) {
  walk(unit, kNone, kNone, 0);
}

void UnitFunctions::walk(Dwarf_Die& parent, uint32_t scope, uint32_t code, int depth) {
  Dwarf_Die entry;
  if (depth > kDeepest || dwarf_child(&parent, &entry) != 0) return;
  do {
    visit(entry, scope, code, depth + 1);
  } while (dwarf_siblingof(&entry, &entry) == 0);
}

void UnitFunctions::visit(Dwarf_Die& entry, uint32_t scope, uint32_t code, int depth) {
  const int tag = dwarf_tag(&entry);
  if (tag == DW_TAG_subprogram) {
    if (scope != kNone) scope_of_function_.emplace(dwarf_dieoffset(&entry), scope);
    const uint32_t own_scope = dwarf_haschildren(&entry) > 0 ? add_scope(entry, scope) : kNone;
    walk(entry, own_scope, add_code(entry, kNone), depth);
  } else if (tag == DW_TAG_inlined_subroutine) {
    const uint32_t own = add_code(entry, code);
    if (own != kNone) walk(entry, scope, own, depth);
  } else if (is_scope(tag)) {
    walk(entry, add_scope(entry, scope), code, depth);
  } else if (may_hold_code(tag)) {
    walk(entry, scope, code, depth);
  }
}

uint32_t UnitFunctions::add_scope(Dwarf_Die& entry, uint32_t within) {
  scopes_.push_back({entry, within});
  return static_cast<uint32_t>(scopes_.size() - 1);
}

// Empty if it is at none of the addresses.
uint32_t UnitFunctions::add_code(Dwarf_Die& entry, uint32_t within) {
  const auto index = static_cast<uint32_t>(codes_.size());
  bool is_used = false;
  for (const base::AddressRange& range : code_ranges(entry)) {
    const auto begin = std::ranges::lower_bound(addresses_, range.begin) - addresses_.begin();
    const auto end = std::ranges::lower_bound(addresses_, range.end) - addresses_.begin();
    is_used |= begin < end;
    std::fill(innermost_.begin() + begin, innermost_.begin() + end, index);
  }
  if (!is_used) return kNone;
  codes_.push_back({entry, within});
  return index;
}

std::string UnitFunctions::linkage_name(const Code& code) {
  Dwarf_Die entry = code.entry;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&entry, kind, &attribute) == nullptr) continue;
    if (const char* const name = dwarf_formstring(&attribute)) return name;
  }
  return "";
}

std::string UnitFunctions::source_name(const Code& code) const {
  Dwarf_Die entry = code.entry;
  const char* const own = dwarf_diename(&entry);
  if (own == nullptr) return "";
  int left = kMostOrigins;
  while (left-- > 0 && go_to_origin(entry)) continue;
  std::string name = own;
  const auto found = scope_of_function_.find(dwarf_dieoffset(&entry));
  uint32_t scope = found == scope_of_function_.end() ? kNone : found->second;
  for (; scope != kNone; scope = scopes_[scope].within) {
    const std::string outer = own_name(scopes_[scope].entry);
    if (!outer.empty()) name = outer + "::" + name;
  }
  return name;
}

}  // namespace heaptape::replayer
