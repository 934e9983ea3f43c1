// The functions in the symbol tables of a module.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>

#include "base/address/address_map.h"

namespace heaptape::replayer {

// From .symtab of the file or its debug file, else from .dynsym and .gnu_debugdata. Valid while the
// module is.
class FunctionSymbols {
 public:
  explicit FunctionSymbols(Dwfl_Module* module);

  bool empty() const { return names_.empty(); }
  // The linker's name of the function that has a call at an address of the module; empty if
  // unknown.
  std::string find(uint64_t address) const;

 private:
  base::AddressMap<const char*> names_;
};

}  // namespace heaptape::replayer
