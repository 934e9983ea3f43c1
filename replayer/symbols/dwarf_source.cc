#include "replayer/symbols/dwarf_source.h"

#include <dwarf.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "replayer/symbols/dwarf_unit.h"
#include "replayer/symbols/function_name.h"

namespace heaptape::replayer {
namespace {

// With -gsplit-dwarf, lines are in `unit` and functions in `functions`; else both are the same.
struct Unit {
  Dwarf_Die unit;
  Dwarf_Die functions;
};

std::optional<Unit> open_unit(Dwarf* dwarf, Dwarf_Off offset) {
  Unit opened;
  if (dwarf_offdie(dwarf, offset, &opened.unit) == nullptr) return std::nullopt;
  opened.functions = opened.unit;
  uint8_t type = 0;
  Dwarf_Die split = {};
  if (dwarf_cu_info(opened.unit.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) ==
          0 &&
      type == DW_UT_skeleton && split.cu != nullptr) {
    opened.functions = split;
  }
  return opened;
}

// In the source.
struct Line {
  std::string file;
  uint32_t number = 0;
};

Line line_at(Dwarf_Die& unit, uint64_t address) {
  Dwarf_Line* const found = dwarf_getsrc_die(&unit, address);
  int number = 0;
  if (found == nullptr || dwarf_lineno(found, &number) != 0) return {};
  const char* const file = dwarf_linesrc(found, nullptr, nullptr);
  return {file == nullptr ? "" : file, static_cast<uint32_t>(number)};
}

Dwarf_Word number_of(Dwarf_Die entry, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (dwarf_formudata(dwarf_attr(&entry, attribute_name, &attribute), &number) != 0) return 0;
  return number;
}

Line line_of_call(Dwarf_Die inlined) {
  const auto number = static_cast<uint32_t>(number_of(inlined, DW_AT_call_line));
  const Dwarf_Word file = number_of(inlined, DW_AT_call_file);
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_diecu(&inlined, &unit, nullptr, nullptr) == nullptr) return {"", number};
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || file >= count) return {"", number};
  const char* const name = dwarf_filesrc(files, file, nullptr, nullptr);
  const bool is_known = name != nullptr && name != std::string_view("???");
  return {is_known ? name : "", number};
}

// DWARF may lack the linker's name of functions that are not exported, or were inlined. Only C++
// names say more than those of the source; others may be an alias (__GI_abort).
std::string name_of(const UnitFunctions& functions, const UnitFunctions::Code& code,
                    const std::string& symbol) {
  const std::string linkage_name = UnitFunctions::linkage_name(code);
  const bool is_outermost = code.within == UnitFunctions::kNone;
  if (linkage_name.starts_with("_Z")) return function_name(linkage_name);
  if (is_outermost && symbol.starts_with("_Z")) return function_name(symbol);
  std::string source_name = functions.source_name(code);
  if (!source_name.empty()) return source_name;
  return is_outermost && linkage_name.empty() ? function_name(symbol) : linkage_name;
}

// From the innermost code outwards: each is entered at a line of the next.
std::vector<SourceFrame> frames_at(const UnitFunctions& functions, uint32_t innermost, Line line,
                                   const std::string& symbol) {
  std::vector<SourceFrame> frames;
  for (uint32_t next = innermost; next != UnitFunctions::kNone;) {
    const UnitFunctions::Code& code = functions.code(next);
    frames.push_back({name_of(functions, code, symbol), line.file, line.number});
    next = code.within;
    if (next != UnitFunctions::kNone) line = line_of_call(code.entry);
  }
  const bool is_known = !symbol.empty() || line.number != 0;  // as in assembly
  if (frames.empty() && is_known) frames.push_back({function_name(symbol), line.file, line.number});
  return frames;
}

}  // namespace

DwarfSource::DwarfSource(Dwarf* dwarf, Dwarf_Addr bias) : dwarf_(dwarf), bias_(bias) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry;
  while (dwarf != nullptr &&
         dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &entry, nullptr) == 0) {
    for (const base::AddressRange& range : code_ranges(entry)) {
      units_.assign(range, dwarf_dieoffset(&entry));
    }
  }
}

std::vector<std::vector<SourceFrame>> DwarfSource::read(const std::vector<uint64_t>& addresses,
                                                        const FunctionSymbols& symbols) const {
  std::vector<std::vector<SourceFrame>> source(addresses.size());
  std::map<Dwarf_Off, std::vector<size_t>> of_units;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (const Dwarf_Off* const unit = units_.find(addresses[i] - bias_)) {
      of_units[*unit].push_back(i);
    } else if (const std::string name = symbols.find(addresses[i]); !name.empty()) {
      source[i].push_back({function_name(name), "", 0});
    }
  }
  for (const auto& [offset, indices] : of_units) {
    std::optional<Unit> unit = open_unit(dwarf_, offset);
    if (!unit) continue;
    std::vector<uint64_t> own;
    for (const size_t i : indices) own.push_back(addresses[i] - bias_);
    const UnitFunctions functions(unit->functions, own);
    for (size_t i = 0; i < own.size(); ++i) {
      source[indices[i]] = frames_at(functions, functions.innermost(i), line_at(unit->unit, own[i]),
                                     symbols.find(addresses[indices[i]]));
    }
  }
  return source;
}

}  // namespace heaptape::replayer
