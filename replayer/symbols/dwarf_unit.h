// The functions of a compilation unit, and the calls inlined into them, from its DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/address/address_range.h"

namespace heaptape::replayer {

// The ranges of code of a unit, a function or an inlined call.
std::vector<base::AddressRange> code_ranges(Dwarf_Die& entry);

// Which calls were inlined where, at some addresses of one unit: read in one walk over the unit,
// whose cost grows with its size. Valid while the Dwarf of `unit` is.
class UnitFunctions {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Code of a function: its own, or inlined into another.
  struct Code {
    Dwarf_Die entry;
    uint32_t within = kNone;  // the code that it is inlined into
  };

  // `addresses`: ascending.
  UnitFunctions(Dwarf_Die& unit, std::span<const uint64_t> addresses);

  // The innermost code at an address, by its index there; kNone if there is none.
  uint32_t innermost(size_t address_index) const { return innermost_[address_index]; }
  const Code& code(uint32_t index) const { return codes_[index]; }

  // The linker's name of the function of `code`; empty if DWARF does not have it.
  static std::string linkage_name(const Code& code);
  // Its name in the source, with namespaces and classes as far as the unit has them.
  std::string source_name(const Code& code) const;

 private:
  // A namespace, class or function that encloses functions.
  struct Scope {
    Dwarf_Die entry;
    uint32_t within = kNone;
  };

  void walk(Dwarf_Die& parent, uint32_t scope, uint32_t code, int depth);
  void visit(Dwarf_Die& entry, uint32_t scope, uint32_t code, int depth);
  uint32_t add_scope(Dwarf_Die& entry, uint32_t within);
  uint32_t add_code(Dwarf_Die& entry, uint32_t within);

  std::span<const uint64_t> addresses_;
  std::vector<uint32_t> innermost_;
  std::vector<Code> codes_;
  std::vector<Scope> scopes_;
  std::unordered_map<Dwarf_Off, uint32_t> scope_of_function_;  // by its first declaration
};

}  // namespace heaptape::replayer
