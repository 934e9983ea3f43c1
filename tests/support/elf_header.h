// The header of an ELF file, for made-up programs in tests.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace heaptape::tests {

// `Header` is Elf32_Ehdr or Elf64_Ehdr. No segments.
template <typename Header>
Header elf_header(uint16_t type, uint16_t machine) {
  constexpr bool kIsWide = sizeof(Header) == sizeof(Elf64_Ehdr);
  Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = kIsWide ? ELFCLASS64 : ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  return header;
}

}  // namespace heaptape::tests
