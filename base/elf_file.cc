#include "base/elf_file.h"

#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

#include <cstring>

namespace heaptape::base {
namespace {

bool fits(uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
  return offset <= file_bytes && bytes <= file_bytes - offset;
}

// Calls visit(segment) for each program header until one says false. Whether none did; false too
// for headers that cannot be read.
template <typename Visit>
bool every_segment(Elf* elf, Visit visit) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr || !visit(segment)) {
      return false;
    }
  }
  return true;
}

// Whether the symbol table `section` defines the function.
bool defines(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, const char* name) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return false;
  const size_t symbols = header.sh_size / header.sh_entsize;
  for (size_t i = 0; i < symbols; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) continue;
    if (symbol.st_shndx == SHN_UNDEF) continue;
    const char* const found = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (found != nullptr && std::strcmp(found, name) == 0) return true;
  }
  return false;
}

}  // namespace

void ElfFile::Ender::operator()(Elf* elf) const {
  elf_end(elf);
}

ElfFile::ElfFile(Descriptor file) : file_(std::move(file)) {
  elf_version(EV_CURRENT);
  elf_.reset(elf_begin(file_.get(), ELF_C_READ, nullptr));
}

bool ElfFile::is_elf() const {
  return elf_ != nullptr && elf_kind(elf_.get()) == ELF_K_ELF;
}

bool ElfFile::is_native() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf_.get(), &header) != nullptr && header.e_machine == EM_X86_64 &&
         header.e_ident[EI_CLASS] == ELFCLASS64;
}

bool ElfFile::is_shared_object() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf_.get(), &header) != nullptr && header.e_type == ET_DYN &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

bool ElfFile::has_interpreter() const {
  bool found = false;
  every_segment(elf_.get(), [&](const GElf_Phdr& segment) {
    found = found || segment.p_type == PT_INTERP;
    return !found;
  });
  return found;
}

bool ElfFile::exports_function(const char* name) const {
  Elf* const elf = elf_.get();
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    if (defines(elf, section, header, name)) return true;
  }
  return false;
}

bool ElfFile::is_whole() const {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return false;
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  return every_segment(elf_.get(), [file_bytes](const GElf_Phdr& segment) {
    return fits(segment.p_offset, segment.p_filesz, file_bytes);
  });
}

}  // namespace heaptape::base
