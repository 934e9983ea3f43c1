#include "recorder/interposer/references.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

struct Search {
  const Redirection* redirections;
  size_t count;
  const void* library;
  long memory;  // descriptor of /proc/self/mem
};

// The references of an object, by its dynamic section.
struct References {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  const Elf64_Rela* tables[2] = {};  // DT_RELA, DT_JMPREL
  size_t bytes[2] = {};
  const uint32_t* hashes = nullptr;  // DT_GNU_HASH
};

const Elf64_Dyn* dynamic_section(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) {
      return reinterpret_cast<const Elf64_Dyn*>(object.dlpi_addr + part.p_vaddr);
    }
  }
  return nullptr;
}

bool is_loaded_at(const dl_phdr_info& object, const void* address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const auto offset = reinterpret_cast<uintptr_t>(address) - (object.dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_LOAD && offset < part.p_memsz) return true;
  }
  return false;
}

References references_of(const dl_phdr_info& object) {
  References references;
  // glibc has put addresses there, musl leaves offsets.
  const auto at = [&object](Elf64_Addr value) {
    return value < object.dlpi_addr ? object.dlpi_addr + value : value;
  };
  const Elf64_Dyn* entry = dynamic_section(object);
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        references.symbols = reinterpret_cast<const Elf64_Sym*>(at(entry->d_un.d_ptr));
        break;
      case DT_STRTAB:
        references.names = reinterpret_cast<const char*>(at(entry->d_un.d_ptr));
        break;
      case DT_RELA:
        references.tables[0] = reinterpret_cast<const Elf64_Rela*>(at(entry->d_un.d_ptr));
        break;
      case DT_GNU_HASH:
        references.hashes = reinterpret_cast<const uint32_t*>(at(entry->d_un.d_ptr));
        break;
      case DT_RELASZ:
        references.bytes[0] = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        references.tables[1] = reinterpret_cast<const Elf64_Rela*>(at(entry->d_un.d_ptr));
        break;
      case DT_PLTRELSZ:
        references.bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return references;
}

// The symbol that a reference to a function of another object names; null if it is none.
const Elf64_Sym* symbol_of(const References& references, const Elf64_Rela& rela) {
  const auto type = ELF64_R_TYPE(rela.r_info);
  if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
    return nullptr;
  const Elf64_Sym& symbol = references.symbols[ELF64_R_SYM(rela.r_info)];
  const bool is_imported = ELF64_R_SYM(rela.r_info) != 0 && symbol.st_shndx == SHN_UNDEF;
  return is_imported && rela.r_addend == 0 ? &symbol : nullptr;
}

// `value` is what the reference has now: the function, or the entry of a program at a fixed
// address, or the way to find it at the first call.
const void* hook_for(const Search& search, const dl_phdr_info& object, const char* name,
                     const void* value) {
  for (size_t i = 0; i < search.count; ++i) {
    const Redirection& redirection = search.redirections[i];
    if (std::strcmp(redirection.name, name) != 0) continue;
    const bool is_bound = value == redirection.function;
    const bool may_be = redirection.is_first &&
                        (is_loaded_at(object, value) || is_entry_of_fixed_program(name, value));
    return is_bound || may_be ? redirection.hook : nullptr;
  }
  return nullptr;
}

// Calls visit(symbol, name, slot) for each reference of the object to another's function.
template <typename Visit>
void for_each_import(const dl_phdr_info& object, Visit visit) {
  const References references = references_of(object);
  if (references.symbols == nullptr || references.names == nullptr) return;
  for (size_t table = 0; table < 2; ++table) {
    const Elf64_Rela* const relas = references.tables[table];
    const size_t count = relas == nullptr ? 0 : references.bytes[table] / sizeof(Elf64_Rela);
    for (size_t i = 0; i < count; ++i) {
      const Elf64_Sym* const symbol = symbol_of(references, relas[i]);
      if (symbol == nullptr) continue;
      visit(*symbol, references.names + symbol->st_name, object.dlpi_addr + relas[i].r_offset);
    }
  }
}

int redirect_in(dl_phdr_info* object, size_t, void* data) {
  const auto& search = *static_cast<const Search*>(data);
  if (is_loaded_at(*object, search.library)) return 0;
  for_each_import(*object, [&](const Elf64_Sym&, const char* name, Elf64_Addr slot) {
    const void* const value = *reinterpret_cast<const void* const*>(slot);
    const void* const hook = hook_for(search, *object, name, value);
    if (hook == nullptr) return;
    raw_syscall(SYS_pwrite64, search.memory, as_long(&hook), sizeof hook, static_cast<long>(slot));
  });
  return 0;
}

// The layout is that of GNU binutils (elflink.c) and glibc (do_lookup_x of elf/dl-lookup.c):
// buckets of symbols by the hash of their names, and behind them the hash of each, odd for the last
// in its bucket.
const Elf64_Sym* find_symbol(const References& references, const char* name) {
  uint32_t hash = 5381;
  for (const char* at = name; *at != 0; ++at) hash = hash * 33 + static_cast<uint8_t>(*at);
  const uint32_t* const table = references.hashes;
  const uint32_t buckets = table[0];
  const uint32_t first = table[1];
  const uint32_t filter_words = table[2];
  if (buckets == 0) return nullptr;
  const uint32_t* const bucket = table + 4 + 2 * filter_words;
  const uint32_t* const chain = bucket + buckets;
  for (uint32_t i = bucket[hash % buckets]; i >= first; ++i) {
    const uint32_t other = chain[i - first];
    const Elf64_Sym& symbol = references.symbols[i];
    if ((other | 1) == (hash | 1) && std::strcmp(references.names + symbol.st_name, name) == 0) {
      return &symbol;
    }
    if ((other & 1) != 0) break;
  }
  return nullptr;
}

struct Function {
  const void* library;
  const char* name;
  void* address;
};

int find_function(dl_phdr_info* object, size_t, void* data) {
  auto& function = *static_cast<Function*>(data);
  if (!is_loaded_at(*object, function.library)) return 0;
  const References references = references_of(*object);
  if (references.symbols == nullptr || references.names == nullptr || references.hashes == nullptr)
    return 1;
  const Elf64_Sym* const symbol = find_symbol(references, function.name);
  const bool is_there = symbol != nullptr && symbol->st_shndx != SHN_UNDEF &&
                        ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
  if (is_there) function.address = reinterpret_cast<void*>(object->dlpi_addr + symbol->st_value);
  return 1;
}

struct Entry {
  const char* name;
  const void* address;
  bool is_found;
};

int find_entry(dl_phdr_info* object, size_t, void* data) {
  auto& entry = *static_cast<Entry*>(data);
  if (!is_loaded_at(*object, entry.address)) return 0;
  for_each_import(*object, [&](const Elf64_Sym& symbol, const char* name, Elf64_Addr) {
    const auto address = reinterpret_cast<const void*>(object->dlpi_addr + symbol.st_value);
    entry.is_found |=
        symbol.st_value != 0 && address == entry.address && std::strcmp(name, entry.name) == 0;
  });
  return 1;
}

}  // namespace

void redirect_references(const Redirection* redirections, size_t count, const void* library) {
  const long memory =
      raw_syscall(SYS_openat, AT_FDCWD, as_long("/proc/self/mem"), O_RDWR | O_CLOEXEC);
  if (memory < 0) return;
  Search search{redirections, count, library, memory};
  dl_iterate_phdr(redirect_in, &search);
  raw_syscall(SYS_close, memory);
}

void* function_in(const void* library, const char* name) {
  Function function{library, name, nullptr};
  dl_iterate_phdr(find_function, &function);
  return function.address;
}

bool is_entry_of_fixed_program(const char* name, const void* address) {
  Entry entry{name, address, false};
  dl_iterate_phdr(find_entry, &entry);
  return entry.is_found;
}

}  // namespace heaptape::recorder
