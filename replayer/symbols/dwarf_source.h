// Functions and lines of addresses, from the DWARF of a module.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/address/address_map.h"
#include "replayer/symbols/function_symbols.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

class DwarfSource {
 public:
  // Reads where the units have their code; `.debug_aranges` would be faster, but many compilers
  // omit it. Addresses in DWARF are `bias` below the module's.
  DwarfSource(Dwarf* dwarf, Dwarf_Addr bias);

  bool empty() const { return units_.empty(); }
  // CodePlace::source for each of the module's addresses, which ascend. `symbols` name the
  // functions that DWARF does not name, or for which it lacks the linker's name. Walks over each
  // unit once.
  std::vector<std::vector<SourceFrame>> read(const std::vector<uint64_t>& addresses,
                                             const FunctionSymbols& symbols) const;

 private:
  Dwarf* dwarf_;
  Dwarf_Addr bias_;
  base::AddressMap<Dwarf_Off> units_;  // from code to the units' entries
};

}  // namespace heaptape::replayer
