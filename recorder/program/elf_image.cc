#include "recorder/program/elf_image.h"

#include <cstring>

namespace heaptape::recorder {
namespace {

// More than any program has. A file that claims more is read up to here.
constexpr uint32_t kMaxDynamicEntries = 4096;
constexpr uint32_t kMaxChain = 4096;

uint32_t gnu_hash_of(const char* name) {
  uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// System V ABI, "Hash Table".
uint32_t hash_of(const char* name) {
  uint32_t hash = 0;
  for (; *name != 0; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const uint32_t high = hash & 0xf0000000;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

}  // namespace

ElfImage::ElfImage(const RawFile& file) : file_(file) {
  Elf64_Ehdr header{};
  is_elf_ = file.read(0, &header, sizeof header) > SELFMAG &&
            std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  is_native_ = is_elf_ && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
  if (!is_native_ || header.e_phentsize != sizeof(Elf64_Phdr)) return;
  const uint32_t count = header.e_phnum < kMaxSegments ? header.e_phnum : kMaxSegments;
  const size_t got = file.read(header.e_phoff, segments_, count * sizeof(Elf64_Phdr));
  segment_count_ = static_cast<uint32_t>(got / sizeof(Elf64_Phdr));
  dynamic_ = find_segment(PT_DYNAMIC);
  uint64_t address = 0;
  if (read_dynamic(DT_STRTAB, 0, &address)) tables_.strings = offset_of(address);
  if (read_dynamic(DT_SYMTAB, 0, &address)) tables_.symbols = offset_of(address);
  if (read_dynamic(DT_GNU_HASH, 0, &address)) tables_.gnu_hash = offset_of(address);
  if (read_dynamic(DT_HASH, 0, &address)) tables_.hash = offset_of(address);
}

// The first segment of the type; null if there is none.
const Elf64_Phdr* ElfImage::find_segment(uint32_t type) const {
  for (uint32_t i = 0; i < segment_count_; ++i) {
    if (segments_[i].p_type == type) return &segments_[i];
  }
  return nullptr;
}

// The file offset of the byte at `address` of the loaded program; 0 if it has none.
uint64_t ElfImage::offset_of(uint64_t address) const {
  for (uint32_t i = 0; i < segment_count_; ++i) {
    const Elf64_Phdr& segment = segments_[i];
    if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return 0;
}

// The `index`th value of the tag in the dynamic section.
bool ElfImage::read_dynamic(int64_t tag, uint32_t index, uint64_t* value) const {
  if (dynamic_ == nullptr) return false;
  const uint64_t all = dynamic_->p_filesz / sizeof(Elf64_Dyn);
  const uint64_t count = all < kMaxDynamicEntries ? all : kMaxDynamicEntries;
  Elf64_Dyn entries[32];
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t offset = dynamic_->p_offset + i * sizeof(Elf64_Dyn);
    if (i % 32 == 0) {
      const size_t got = file_.read(offset, entries, sizeof entries);
      std::memset(reinterpret_cast<char*>(entries) + got, 0, sizeof entries - got);
    }
    const Elf64_Dyn& entry = entries[i % 32];
    if (entry.d_tag == DT_NULL) return false;
    if (entry.d_tag == tag && index-- == 0) {
      *value = entry.d_un.d_val;
      return true;
    }
  }
  return false;
}

bool ElfImage::read_name(uint64_t string, Name name) const {
  if (tables_.strings == 0) return false;
  const size_t got = file_.read(tables_.strings + string, name, kNameBytes - 1);
  name[got] = 0;
  return got != 0;
}

bool ElfImage::read_interpreter(Name name) const {
  const Elf64_Phdr* const segment = find_segment(PT_INTERP);
  if (segment == nullptr) return false;
  const size_t length = segment->p_filesz < kNameBytes - 1 ? segment->p_filesz : kNameBytes - 1;
  name[file_.read(segment->p_offset, name, length)] = 0;
  return true;
}

bool ElfImage::read_soname(Name name) const {
  uint64_t string = 0;
  return read_dynamic(DT_SONAME, 0, &string) && read_name(string, name);
}

bool ElfImage::read_needed(uint32_t index, Name name) const {
  uint64_t string = 0;
  return read_dynamic(DT_NEEDED, index, &string) && read_name(string, name);
}

bool ElfImage::is_definition(uint64_t index, const char* symbol) const {
  Elf64_Sym entry = {};
  const uint64_t offset = tables_.symbols + index * sizeof entry;
  if (!file_.read_whole(offset, &entry, sizeof entry) || entry.st_shndx == SHN_UNDEF) return false;
  Name name;
  return read_name(entry.st_name, name) && std::strcmp(name, symbol) == 0;
}

bool ElfImage::defines(const char* symbol) const {
  if (tables_.symbols == 0) return false;
  return tables_.gnu_hash != 0 ? defines_by_gnu_hash(symbol) : defines_by_hash(symbol);
}

// Header, Bloom filter, buckets, chains; the lowest bit of a chain's entry marks its end.
bool ElfImage::defines_by_gnu_hash(const char* symbol) const {
  struct {
    uint32_t buckets, first_symbol, filter_words, filter_shift;
  } table = {};
  if (!file_.read_whole(tables_.gnu_hash, &table, sizeof table) || table.buckets == 0) return false;
  const uint64_t buckets = tables_.gnu_hash + sizeof table + uint64_t{table.filter_words} * 8;
  const uint64_t chains = buckets + uint64_t{table.buckets} * 4;
  const uint32_t wanted = gnu_hash_of(symbol);
  uint32_t index = 0;
  const uint64_t bucket = buckets + uint64_t{wanted % table.buckets} * 4;
  if (!file_.read_whole(bucket, &index, sizeof index) || index < table.first_symbol) return false;
  for (uint32_t i = 0; i < kMaxChain; ++i, ++index) {
    uint32_t hash = 0;
    const uint64_t offset = chains + uint64_t{index - table.first_symbol} * 4;
    if (!file_.read_whole(offset, &hash, sizeof hash)) return false;
    if ((hash | 1) == (wanted | 1) && is_definition(index, symbol)) return true;
    if ((hash & 1) != 0) return false;
  }
  return false;
}

bool ElfImage::defines_by_hash(const char* symbol) const {
  uint32_t counts[2] = {};  // of buckets, of chain entries
  if (tables_.hash == 0 || !file_.read_whole(tables_.hash, counts, sizeof counts)) return false;
  if (counts[0] == 0) return false;
  const uint64_t buckets = tables_.hash + sizeof counts;
  const uint64_t chains = buckets + uint64_t{counts[0]} * 4;
  uint32_t index = 0;
  uint64_t next = buckets + uint64_t{hash_of(symbol) % counts[0]} * 4;
  for (uint32_t i = 0; i < kMaxChain; ++i) {
    if (!file_.read_whole(next, &index, sizeof index) || index == 0) return false;
    if (is_definition(index, symbol)) return true;
    next = chains + uint64_t{index} * 4;
  }
  return false;
}

}  // namespace heaptape::recorder
