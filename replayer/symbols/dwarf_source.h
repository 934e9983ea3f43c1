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
  // Reads where the units have their code; `.debug_aranges` would tell faster, but many compilers
  // leave it out. DWARF says addresses that are lower by `bias` than the module's.
  DwarfSource(Dwarf* dwarf, Dwarf_Addr bias);

  bool empty() const { return units_.empty(); }
  // For each of the module's addresses, which ascend, as CodePlace::source. `symbols` name the
  // functions that DWARF does not, or without the linker's name. Walks over each unit once.
  std::vector<std::vector<SourceFrame>> read(const std::vector<uint64_t>& addresses,
                                             const FunctionSymbols& symbols) const;

 private:
  Dwarf* dwarf_;
  Dwarf_Addr bias_;
  base::AddressMap<Dwarf_Off> units_;  // by code, where their entries are
};

}  // namespace heaptape::replayer
