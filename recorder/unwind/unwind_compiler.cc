#include "recorder/unwind/unwind_compiler.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/elf_file.h"
#include "recorder/unwind/cfa_program.h"
#include "recorder/unwind/dwarf_cursor.h"
#include "recorder/unwind/eh_frame.h"
#include "recorder/unwind/prologue.h"
#include "recorder/unwind/table_builder.h"

namespace heaptape::recorder {
namespace {

// Above anything real; they bound what a hostile file costs in memory and time.
constexpr size_t kMostSegments = 8;
constexpr uint64_t kMostNoteBytes = uint64_t{64} << 10;
constexpr uint32_t kMostBuildIdBytes = 64;
constexpr uint64_t kBytesPerRow = 6;  // of .eh_frame, as compilers write it

// For code that is searched for frame pointers: most of its functions should have one. V8's
// builtins have one in 862 bytes, musl one in 100,000, assembly of OpenSSL none in 150,000.
constexpr uint32_t kLeastFramedBytes = 4096;
constexpr size_t kMostBytesPerFrame = 2048;
constexpr uint32_t kMostSampleBytes = 1 << 20;  // the beginning of a stretch stands for all of it

bool has_frame_pointers(std::span<const uint8_t> code) {
  size_t count = 0;
  for (size_t i = 0; i < code.size(); ++i) count += begins_with_prologue(code.subspan(i)) ? 1 : 0;
  return count * kMostBytesPerFrame >= code.size() && count != 0;
}

// Gathers the rows of all functions, then makes the tables.
class Compiler {
 public:
  Compiler(std::span<const CodeSegment> segments, size_t section_bytes, uint64_t most_code_bytes)
      : segments_(segments), left_code_bytes_(most_code_bytes), pieces_(segments.size()) {
    rows_.reserve(section_bytes / kBytesPerRow);
  }

  void add(const Fde& fde) {
    for (size_t i = 0; i < segments_.size(); ++i) {
      const CodeSegment& segment = segments_[i];
      if (fde.begin < segment.address || fde.begin - segment.address >= code_bytes(segment)) {
        continue;
      }
      ++result_.counts.functions;
      if (fde.end > fde.begin) add_piece(fde, segment, pieces_[i]);
      return;
    }
    ++result_.counts.misplaced;
  }

  UnwindTables finish(uint64_t unreadable, const ReadCode& read_code) {
    result_.counts.unreadable = unreadable;
    for (size_t i = 0; i < segments_.size(); ++i) {
      if (read_code) add_framed_code(segments_[i], pieces_[i], read_code);
      BuiltTable built = build_table(code_bytes(segments_[i]), pieces_[i], rows_, rules_.rules());
      result_.tables.push_back({segments_[i], std::move(built.memory)});
      result_.counts.rows += result_.tables.back().table().rows;
      result_.counts.rows_without_rule += built.rows_without_rule;
      count(NoRule::kNoInformation, built.bytes_without_piece);
    }
    return std::move(result_);
  }

 private:
  // Adds long stretches without information where functions have frame pointers.
  void add_framed_code(const CodeSegment& segment, std::vector<CodePiece>& pieces,
                       const ReadCode& read_code) {
    std::ranges::sort(pieces, {}, &CodePiece::begin);
    const size_t described = pieces.size();
    uint32_t covered = 0;
    for (size_t i = 0; i <= described; ++i) {
      const uint32_t next = i < described ? pieces[i].begin : code_bytes(segment);
      const uint32_t bytes = next > covered ? next - covered : 0;
      if (bytes >= kLeastFramedBytes &&
          is_framed(segment, covered, std::min(bytes, kMostSampleBytes), read_code)) {
        pieces.push_back({covered, next, static_cast<uint32_t>(rows_.size()), 1});
        rows_.push_back({covered, rules_.id(kFramedRule)});
      }
      if (i < described) covered = std::max(covered, pieces[i].end);
    }
  }

  bool is_framed(const CodeSegment& segment, uint32_t begin, uint32_t bytes,
                 const ReadCode& read_code) {
    if (bytes > left_code_bytes_) {
      result_.has_unread_code = true;
      return false;
    }
    left_code_bytes_ -= bytes;
    return has_frame_pointers(read_code(segment, begin, bytes));
  }

  // The reach of a table's offsets.
  static uint32_t code_bytes(const CodeSegment& segment) {
    return static_cast<uint32_t>(
        std::min<uint64_t>(segment.bytes, std::numeric_limits<uint32_t>::max()));
  }

  void add_piece(const Fde& fde, const CodeSegment& segment, std::vector<CodePiece>& pieces) {
    const uint64_t bytes =
        std::min(fde.end - fde.begin, code_bytes(segment) - (fde.begin - segment.address));
    const auto first_row = static_cast<uint32_t>(rows_.size());
    program_.start(*fde.terms, fde.instructions, fde.begin, fde.begin + bytes);
    CfaRow row;
    while (program_.next(row)) add_row(row, segment.address, first_row);
    const auto begin = static_cast<uint32_t>(fde.begin - segment.address);
    pieces.push_back({begin, begin + static_cast<uint32_t>(bytes), first_row,
                      static_cast<uint32_t>(rows_.size()) - first_row});
  }

  void add_row(const CfaRow& row, uint64_t address, uint32_t first_row) {
    const uint16_t rule = rules_.id(row.rule);
    if (rule == RuleSet::kNoneId) {
      const bool has_rule = row.why == NoRule::kHasRule;
      count(has_rule ? NoRule::kTooManyRules : row.why, row.end - row.begin);
    }
    if (rows_.size() > first_row && rows_.back().rule == rule) return;
    rows_.push_back({static_cast<uint32_t>(row.begin - address), rule});
  }

  void count(NoRule why, uint64_t code_bytes) {
    result_.counts.code_bytes[static_cast<size_t>(why)] += code_bytes;
  }

  std::span<const CodeSegment> segments_;
  CfaProgram program_;
  uint64_t left_code_bytes_;  // that may still be read
  RuleSet rules_;
  std::vector<CodeRow> rows_;                   // of all segments
  std::vector<std::vector<CodePiece>> pieces_;  // of each segment
  UnwindTables result_;
};

struct LoadedBytes {
  std::vector<uint8_t> bytes;
  uint64_t address = 0;
};

// The address of .eh_frame according to the header that the loader knows.
std::optional<uint64_t> address_in_header(const base::ElfFile& elf,
                                          const base::ElfSegment& segment) {
  constexpr uint64_t kMostHeaderBytes = 32;
  constexpr size_t kEncodings = 3;
  const auto bytes = elf.read(segment.offset, std::min(segment.file_bytes, kMostHeaderBytes));
  DwarfCursor header(bytes, segment.address);
  if (header.byte() != 1) return std::nullopt;  // version
  const uint8_t encoding = header.byte();
  header.skip(kEncodings - 1);
  const uint64_t address = header.pointer(encoding);
  if (!header.ok()) return std::nullopt;
  return address;
}

// By the header, in a file without sections. It does not give the length of .eh_frame.
std::optional<base::ElfSection> find_by_header(const base::ElfFile& elf,
                                               std::span<const base::ElfSegment> segments) {
  const auto header =
      std::ranges::find(segments, uint32_t{PT_GNU_EH_FRAME}, &base::ElfSegment::type);
  if (header == segments.end()) return std::nullopt;
  const auto address = address_in_header(elf, *header);
  if (!address) return std::nullopt;
  for (const base::ElfSegment& segment : segments) {
    const uint64_t distance = *address - segment.address;
    if (segment.type != PT_LOAD || distance >= segment.file_bytes) continue;
    return base::ElfSection{segment.offset + distance, *address, segment.file_bytes - distance};
  }
  return std::nullopt;
}

base::Result<LoadedBytes> read_eh_frame(const base::ElfFile& elf,
                                        std::span<const base::ElfSegment> segments,
                                        uint64_t most_bytes) {
  auto place = elf.section(".eh_frame");
  const bool is_open_ended = !place;
  if (!place) place = find_by_header(elf, segments);
  if (!place) return LoadedBytes{};
  const bool may_be_cut = is_open_ended && most_bytes == kMostEhFrameBytes;
  if (place->bytes > most_bytes && !may_be_cut) {
    return base::Error::foreign("its .eh_frame is larger than the most that is read");
  }
  LoadedBytes result{elf.read(place->offset, std::min(place->bytes, kMostEhFrameBytes)),
                     place->address};
  if (is_open_ended) result.bytes.resize(up_to_mark(result.bytes).size());
  return result;
}

std::vector<CodeSegment> code_segments(std::span<const base::ElfSegment> segments) {
  std::vector<CodeSegment> result;
  for (const base::ElfSegment& segment : segments) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    if (result.size() == kMostSegments) break;
    result.push_back({segment.offset, segment.address, segment.file_bytes});
  }
  return result;
}

// Notes: name, content, each padded to a multiple of four bytes.
std::vector<uint8_t> build_id_of_notes(std::span<const uint8_t> bytes) {
  constexpr std::array<uint8_t, 4> kOwner = {'G', 'N', 'U', '\0'};
  const auto filled = [](uint32_t size) { return (uint64_t{size} + 3) / 4 * 4; };
  DwarfCursor notes(bytes, 0);
  while (!notes.done()) {
    const auto name_bytes = notes.number<uint32_t>();
    const auto content_bytes = notes.number<uint32_t>();
    const auto type = notes.number<uint32_t>();
    DwarfCursor name = notes.part(filled(name_bytes));
    DwarfCursor content = notes.part(std::min(filled(content_bytes), uint64_t{notes.left()}));
    if (type != NT_GNU_BUILD_ID || name_bytes != kOwner.size()) continue;
    if (content_bytes > kMostBuildIdBytes || content.left() < content_bytes) continue;
    if (!std::ranges::all_of(kOwner, [&name](uint8_t c) { return name.byte() == c; })) continue;
    std::vector<uint8_t> result(content_bytes);
    std::ranges::generate(result, [&content] { return content.byte(); });
    return result;
  }
  return {};
}

std::vector<uint8_t> read_build_id(const base::ElfFile& elf,
                                   std::span<const base::ElfSegment> segments) {
  for (const base::ElfSegment& segment : segments) {
    if (segment.type != PT_NOTE) continue;
    const auto notes = elf.read(segment.offset, std::min(segment.file_bytes, kMostNoteBytes));
    auto build_id = build_id_of_notes(notes);
    if (!build_id.empty()) return build_id;
  }
  return {};
}

bool is_regular(const base::Descriptor& file) {
  struct stat info{};
  return fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
}

base::Result<base::ElfFile> open_module(base::Descriptor file) {
  if (!is_regular(file)) return base::Error::foreign("it is not a regular file");
  base::ElfFile elf(std::move(file));
  if (!elf.is_elf() || !elf.is_native()) {
    return base::Error::foreign("it is not a program or library for x86-64");
  }
  if (!elf.is_whole()) return base::Error::damaged("it is cut short");
  return elf;
}

}  // namespace

UnwindTables compile_eh_frame(std::span<const uint8_t> eh_frame, uint64_t address,
                              std::span<const CodeSegment> segments, const ReadCode& read_code,
                              uint64_t most_code_bytes) {
  Compiler compiler(segments, eh_frame.size(), most_code_bytes);
  EhFrame entries(eh_frame, address);
  Fde fde;
  while (entries.next(fde)) compiler.add(fde);
  return compiler.finish(entries.unreadable(), read_code);
}

base::Result<std::vector<uint8_t>> build_id_of(base::Descriptor file) {
  HEAPTAPE_ASSIGN_OR_RETURN(const base::ElfFile elf, open_module(std::move(file)));
  return read_build_id(elf, elf.segments());
}

base::Result<UnwindTables> compile_unwind_tables(base::Descriptor file, const CompileLimits& most) {
  HEAPTAPE_ASSIGN_OR_RETURN(const base::ElfFile elf, open_module(std::move(file)));
  const std::vector<base::ElfSegment> segments = elf.segments();
  HEAPTAPE_ASSIGN_OR_RETURN(const LoadedBytes eh_frame,
                            read_eh_frame(elf, segments, most.eh_frame_bytes));
  const auto read_code = [&elf](const CodeSegment& segment, uint64_t offset, uint64_t bytes) {
    return elf.read(segment.file_offset + offset, bytes);
  };
  UnwindTables result = compile_eh_frame(eh_frame.bytes, eh_frame.address, code_segments(segments),
                                         read_code, most.code_bytes);
  if (result.has_unread_code && most.code_bytes < kMostCodeBytes) {
    return base::Error::foreign("too much of its code has no unwind information");
  }
  result.build_id = read_build_id(elf, segments);
  return result;
}

}  // namespace heaptape::recorder
