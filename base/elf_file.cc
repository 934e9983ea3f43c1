#include "base/elf_file.h"

#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

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

bool ElfFile::is_whole() const {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0) return false;
  const auto file_bytes = static_cast<uint64_t>(info.st_size);
  return every_segment(elf_.get(), [file_bytes](const GElf_Phdr& segment) {
    return fits(segment.p_offset, segment.p_filesz, file_bytes);
  });
}

}  // namespace heaptape::base
