#include "base/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace heaptape::base {
namespace {

bool fits(uint64_t offset, uint64_t bytes, uint64_t file_bytes) {
  return offset <= file_bytes && bytes <= file_bytes - offset;
}

// Calls visit(segment) for each program header until one returns false. Returns whether none did;
// also false for headers that cannot be read.
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

uint64_t file_bytes_of(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

}  // namespace

void ElfFile::Ender::operator()(Elf* elf) const {
  elf_end(elf);
}

ElfFile::ElfFile(Descriptor file) : file_(std::move(file)) {
  elf_version(EV_CURRENT);
  elf_.reset(elf_begin(file_.get(), ELF_C_READ, nullptr));
}

ElfFile ElfFile::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  const bool is_regular = fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  return ElfFile(is_regular ? std::move(file) : Descriptor());
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
  const uint64_t file_bytes = file_bytes_of(file_.get());
  GElf_Ehdr header;
  if (gelf_getehdr(elf_.get(), &header) == nullptr) return false;
  // libelf passes over headers that are not in the file.
  const uint64_t segment_bytes = uint64_t{header.e_phnum} * header.e_phentsize;
  const uint64_t section_bytes = uint64_t{header.e_shnum} * header.e_shentsize;
  if (!fits(header.e_phoff, segment_bytes, file_bytes)) return false;
  if (!fits(header.e_shoff, section_bytes, file_bytes)) return false;
  return every_segment(elf_.get(), [file_bytes](const GElf_Phdr& segment) {
    return fits(segment.p_offset, segment.p_filesz, file_bytes);
  });
}

std::vector<ElfSegment> ElfFile::segments() const {
  std::vector<ElfSegment> segments;
  every_segment(elf_.get(), [&segments](const GElf_Phdr& header) {
    segments.push_back(
        {header.p_type, header.p_flags, header.p_offset, header.p_vaddr, header.p_filesz});
    return true;
  });
  return segments;
}

std::optional<ElfSection> ElfFile::section(const char* name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_.get(), &names) != 0) return std::nullopt;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_.get(), section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* const own_name = elf_strptr(elf_.get(), names, header.sh_name);
    if (own_name == nullptr || std::strcmp(own_name, name) != 0) continue;
    return ElfSection{header.sh_offset, header.sh_addr, header.sh_size};
  }
  return std::nullopt;
}

std::vector<uint8_t> ElfFile::read(uint64_t offset, uint64_t bytes) const {
  const uint64_t file_bytes = file_bytes_of(file_.get());
  if (offset >= file_bytes) return {};
  std::vector<uint8_t> result(std::min(bytes, file_bytes - offset));
  size_t done = 0;
  while (done < result.size()) {
    const ssize_t got = pread(file_.get(), result.data() + done, result.size() - done,
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  result.resize(done);
  return result;
}

std::vector<uint8_t> ElfFile::read_section(const char* name, uint64_t most_bytes) const {
  const auto found = section(name);
  return found ? read(found->offset, std::min(found->bytes, most_bytes)) : std::vector<uint8_t>();
}

}  // namespace heaptape::base
