// Writes the inputs that fuzzing begins with: `make_seeds DIR` fills DIR/NAME for each target.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/check.h"
#include "recorder/import/trace_format.h"
#include "recorder/ring/session_layout.h"
#include "replayer/symbols/symbol_file.h"
#include "schema/tape/tape_writer.h"
#include "tests/fuzz/unwind_code.h"
#include "tests/support/cfi_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/trace_texts.h"

namespace heaptape::fuzz {
namespace {

using schema::Event;
using schema::Op;
using schema::TapeWriter;

class SeedFolder {
 public:
  SeedFolder(const std::filesystem::path& root, const std::string& target) : path_(root / target) {
    std::filesystem::create_directories(path_);
  }
  void add(const std::string& name, const std::string& bytes) const {
    tests::write_bytes(path_ / name, bytes);
  }
  void add_lines(std::initializer_list<const char*> lines, const std::string& prefix = "") const {
    int number = 0;
    for (const char* line : lines) add("seed-" + std::to_string(++number), prefix + line);
  }

 private:
  std::filesystem::path path_;
};

// --- tapes

schema::TapeHeader header() {
  schema::TapeHeader header;
  header.writer = "heaptape";
  header.command_line = {"./a", "b"};
  header.executable = "/a";
  header.allocator = "/lib/libc.so.6";
  header.pid = 2;
  header.page_bytes = 4096;
  return header;
}

constexpr uint64_t address_of(uint64_t block) {
  return 0x555555559000 + 0x30 * block;
}

void put_simple(TapeWriter& writer) {
  for (uint64_t i = 0; i < 6; ++i) writer.append({Op::kMalloc, 0, 24 + i, 0, address_of(i), 0});
  for (uint64_t i = 0; i < 6; ++i) writer.append({Op::kFree, 0, 0, 0, 0, address_of(5 - i)});
}

// Every entry point, three threads, calls that failed, times and samples.
void put_all(TapeWriter& writer) {
  for (uint8_t op = 0; op < schema::kOpLimit; ++op) {
    if (!schema::is_valid_op(op)) continue;
    const schema::OpInfo& info = schema::op_info(static_cast<Op>(op));
    Event event{static_cast<Op>(op), op % 3u, 0, 0, 0, 0};
    if (info.kind != schema::OpKind::kRelease) {
      event.size = op % 7 == 0 ? uint64_t{1} << op : op;
      event.address = op % 8 == 0 ? 0 : address_of(op);
    }
    if (info.kind != schema::OpKind::kAllocate) event.freed_address = address_of(op - 4u);
    if (info.aligned) event.alignment = 64;
    writer.append(event);
    if (op % 10 == 0) writer.add_time(1000 * op);
  }
  writer.add_sample({0, 5000, 8192, {{0x555555559000, 0x55555555b000}}});
}

// Stacks that are whole, cut and not known, in code of two files, one of which comes later.
void put_stacks(TapeWriter& writer) {
  schema::TapeEncoder& encoder = writer.encoder();
  encoder.set_has_stacks();
  encoder.add_mapping({0, {0x400000, 0x410000}, 0, "/a", "\x12\xab"});
  const schema::FrameNumber outer = encoder.add_frame({0, 0x400101});
  const schema::FrameNumber cut = encoder.add_frame({0, 1});
  encoder.append({Op::kMalloc, 0, 24, 0, address_of(0), 0}, outer);
  encoder.add_mapping({0, {0x700000, 0x710000}, 0x1000, "/lib/b.so", ""});
  const schema::FrameNumber inner = encoder.add_frame({outer, 0x700301});
  encoder.append({Op::kCalloc, 1, 48, 0, address_of(1), 0}, inner);
  encoder.append({Op::kRealloc, 0, 100, 0, address_of(2), address_of(0)},
                 encoder.add_frame({cut, 0x400401}));
  encoder.append({Op::kMalloc, 0, 24, 0, address_of(3), 0}, 0);
  encoder.append({Op::kFree, 0, 0, 0, 0, address_of(1)});
}

// Calls that steer the allocator, before, between and behind others.
void put_steering(TapeWriter& writer) {
  using schema::SteeringOp;
  writer.add_mapping_call({.op = schema::MappingOp::kMap, .range = {0x10000, 0x20000}});
  writer.add_steering({.op = SteeringOp::kMallopt, .first = -3, .second = 65536});
  put_simple(writer);
  writer.add_steering({.thread = 3, .op = SteeringOp::kArenaPurge, .first = 4096});
  writer.add_steering({.op = SteeringOp::kMimallocOption, .first = 15, .second = INT64_MIN});
  put_all(writer);
  writer.add_mapping_call({.thread = 1,
                           .op = schema::MappingOp::kUnmap,
                           .range = {0x18000, UINT64_C(1) << 57},
                           .detail = UINT64_MAX,
                           .stack = 1});
  writer.add_steering({.op = SteeringOp::kMallocTrim});
}

using Put = void (*)(TapeWriter&);

// An unfinished tape has 8 MiB of nothing in front of what was saved last. A reader takes it
// without.
std::string without_hole(std::string bytes) {
  const size_t part = bytes.find("HTck", schema::kPartGapBytes / 2);
  const size_t hole = bytes.find_last_not_of('\0', part - 1) + 1;
  return bytes.erase(hole, part - hole);
}

// Each of `parts` becomes a chunk of its own, but for the last of an unfinished tape.
std::string tape(std::initializer_list<Put> parts, bool finished = true) {
  const tests::TempDir dir;
  {
    auto writer = TapeWriter::create(dir.file("t"), header());
    HEAPTAPE_CHECK(writer.ok());
    for (const Put put : parts) {
      (*writer)->flush();
      put(**writer);
    }
    (*writer)->save();
    if (finished) HEAPTAPE_CHECK((*writer)->finish({}).ok());
  }
  if (finished) return tests::read_bytes(dir.file("t"));
  return without_hole(tests::read_bytes(dir.file("t.partial")));
}

void add_tapes(const SeedFolder& folder) {
  folder.add("empty", tape({}));
  folder.add("simple", tape({put_simple}));
  folder.add("all-calls", tape({put_all}));
  folder.add("three-chunks", tape({put_simple, put_all, put_simple}));
  folder.add("unfinished", tape({put_simple, put_all}, false));
  folder.add("steering", tape({put_steering}));
  folder.add("steering-unfinished", tape({put_steering, put_steering}, false));
  folder.add("stacks", tape({put_stacks}));
  folder.add("stacks-twice", tape({put_stacks, put_stacks}));
  folder.add("stacks-unfinished", tape({put_stacks, put_stacks}, false));
  folder.add("golden", tests::read_bytes(HEAPTAPE_GOLDEN_DIR "/tape-v1.tape"));
  std::string cut = tape({put_simple, put_simple});
  cut.resize(cut.size() - 200);
  folder.add("cut-short", cut);
  std::string damaged = tape({put_simple, put_all, put_simple});
  damaged[damaged.size() / 2] ^= 1;
  folder.add("damaged", damaged);
  std::string lost = tape({put_stacks, put_stacks, put_stacks});
  lost[lost.size() / 2] ^= 1;
  folder.add("stacks-lost", lost);
}

// --- traces of other tools

void add_traces(const SeedFolder& folder) {
  const std::vector<Event> events = {{Op::kMalloc, 0, 24, 0, address_of(0), 0},
                                     {Op::kMalloc, 1, 300, 0, address_of(1), 0},
                                     {Op::kRealloc, 0, 90, 0, address_of(20), address_of(0)},
                                     {Op::kFree, 1, 0, 0, 0, address_of(1)},
                                     {Op::kMalloc, 0, 20, 0, address_of(0), 0},
                                     {Op::kFree, 0, 0, 0, 0, address_of(20)}};
  uint8_t number = 0;
  for (const recorder::TraceFormat& format : recorder::trace_formats()) {
    const std::string text = tests::trace_text(format.name, events);
    folder.add(format.name, std::string(1, static_cast<char>(number++)) + text);
  }
  folder.add("android-all",
             std::string(1, '\0') +
                 "1: calloc 0x10 2 8 5 6\n1: memalign 0x40 64 9 7 8\n1: thread_done 0x0 9\n");
  folder.add("mtrace-all",
             "\x01"
             "@ a:[0x1] ! 0x10 0x5\n+ (nil) 0x7\n= End\n");
  folder.add("logalloc-munged",
             "\x03"
             "1 1 posix_memalign(64,8)=#1\n1 1 free(#1)\n");
  folder.add("heaptrack-interpreted",
             "\x04"
             "v 10400 3\nX a b\na 18 1\n+ 0\nc 5\n- 0\n");
}

// --- symbols

void add_symbols(const SeedFolder& folder) {
  const replayer::Symbols symbols(
      {{},
       {"/a", 0x100, {{"main", "/src/a.cc", 10}}},
       {"/a", 0x200, {{"lex", "/src/lex.h", 3}, {"parse(int)", "/src/a.cc", 20}}}},
      {0, 1, 2, 1});
  const tests::TempDir dir;
  HEAPTAPE_CHECK(replayer::write_symbols(dir.file("s"), symbols, {1700000000, 7}).ok());
  constexpr size_t kMagicBytes = 8;
  folder.add("three-places", tests::read_bytes(dir.file("s")).substr(kMagicBytes));
  HEAPTAPE_CHECK(replayer::write_symbols(dir.file("e"), replayer::Symbols(), {}).ok());
  folder.add("empty", tests::read_bytes(dir.file("e")).substr(kMagicBytes));
}

// --- texts

void add_manifests(const SeedFolder& folder) {
  folder.add_lines({
      R"({"version":1,"command":["sh","-c","x"],"processes":[{"tape":"a.tape","pid":7,)"
      R"("executable":"/bin/sh","commandLine":["sh"],"events":"12","ended":"exited"},)"
      R"({"tape":"b.tape","events":9007199254740992}],"unrecorded":[{"program":"/x","times":1}]})",
      R"({"processes":[{"events":"18446744073709551615"}]})",
  });
}

void add_reports(const SeedFolder& folder) {
  folder.add("golden", tests::read_bytes(HEAPTAPE_GOLDEN_DIR "/report-v1.json"));
  folder.add_lines({
      R"({"version":1,"tape":{"path":"a","events":"3","bytesPerEvent":1.5},"runs":[]})",
      R"({"version":1,"tape":{},"runs":[{"label":"a","end":{"liveBytes":"18446744073709551615",)"
      R"("fragmentation":0.25,"holes":{"count":"1","histogram":[{"log2Size":5,"count":"2"}]}},)"
      R"("counters":[{"name":"x","value":"7"}],"latency":[{"p50Ns":"1"}]}]})",
      R"({"version":1,"tape":{},"runs":[{"peak":{"committedBytes":{"value":"1","at":"2"},)"
      R"("distanceToIdeal":"Infinity"},"growth":{"worstExponent":1,"curves":[{"fitted":true,)"
      R"("grows":true,"verdict":"free grows"}]}},{"time":{"nsPerEvent":"NaN"}}]})",
      R"({"version":1,"tape":{"stacks":{"names":["f"],"moduleOf":[0],"fileOf":[0],"lines":[1],)"
      R"("modules":["m"],"files":[""],"frames":[0,1,0],"depths":[0,1,1],"peakBytes":[3,2,1],)"
      R"("liveBytes":[0,0,0],"askedBytes":[3,2,1],"calls":[2,1,1],"temporaries":[0,0,0],)"
      R"("pinned":[{"label":"a","moments":["peak","end"],"bytes":[9,4,5]}]}},"runs":[]})",
      R"({"version":2,"tape":{}})",
      R"([{"version":1}])",
  });
}

void add_gates(const SeedFolder& folder) {
  // The bytes before each choose the figures: 1 and 67,108,864.
  folder.add_lines(
      {"peak.committedBytes > 64MiB", "peak.committedBytes >= 64MiB", "peak.committedBytes>+5%",
       "end.holes.bytes >= +64 MB", "fidelity.sameOffsetShare < -3%", "counters.tcache != 0.5k",
       "peak.fragmentation<=1e3", "end.liveCount==0"},
      "\x02\x03");
}

void add_specs(const SeedFolder& folder) {
  folder.add_lines({"glibc", "a=glibc GLIBC_TUNABLES=glibc.malloc.tcache_count=0", "recorded",
                    "lib:./libmine.so LD_BIND_NOW=1", "model:ptmalloc:tcache_count=0",
                    "x=model:slabs", "model:buddy:min_block=32", "plugin:./x.so:size=4KiB,check=0",
                    "jemalloc MALLOC_CONF=narenas:1"});
}

// --- commands of the targets that play

void add_rings(const SeedFolder& folder) {
  const std::string record("\x08\x41\x05\x20\x10\x03\x01", 7);  // stamped, a block of the few
  const std::string plain("\x08\x01\x05\x20\x10", 5);
  const std::string release("\x08\x42\x05\x00\x00\x02\x00", 7);
  const std::string drain("\x00\x00", 2);
  folder.add("one-thread", plain + plain + drain + plain + drain);
  folder.add("two-threads", plain + "\x48" + record + "\x48" + record.substr(1) + release + drain);
  folder.add("round-the-ring", "\x06" + plain.substr(1) + "\xff" + drain + "\x06" +
                                   plain.substr(1) + "\xff" + drain + "\x01\xff");
  folder.add("hostile-words",
             plain + std::string("\x03\xff\xff\xff\xff\xff\xff\xff\xff", 9) + drain);
  folder.add("wild-head",
             plain + std::string("\x05\x00\x00\x40\x00\x00\x00\x00\x00\x00", 10) + drain);
}

void add_sessions(const SeedFolder& folder) {
  // Slot 0 of serial 1, ring 0 of slot 0.
  const std::string begin("\x00\x00\x01\x00proc/abc\x01\x00", 14);
  const std::string calls("\x0f\x00\x0f\x01\x0f\x08\x07", 7);
  folder.add("a-process", begin + calls + "\x0a\x4a\x08");
  folder.add("a-fork", begin + calls + std::string("\x10\x11\x02\x01\x00\x00\x00\x00", 8) +
                           std::string("\x00\x00\x00\x00\x11\x01\x1f\x10\x07\x08", 10));
  folder.add("two-of-one-serial", begin + "\x10" + begin.substr(1) + calls + "\x0b\x0b");
  folder.add("a-notice", begin + std::string("\x05\x04\x01\x00\x00\x00\x00\x00\x00\x00", 10) +
                             "/bin/sh\n" + calls);
  constexpr size_t kSlotsTaken = offsetof(recorder::PoolHeader, slots_taken) / sizeof(uint64_t);
  const std::string high_water =
      std::string("\x02") + static_cast<char>(kSlotsTaken) + std::string(9, '\xff');
  folder.add("high-water", high_water + begin + calls + "\x09");
}

void add_heaps(const SeedFolder& folder) {
  // Granules of 16 bytes; commits 8 pages, places blocks, takes one.
  const std::string begin("\x01\x00\x00\x00\x84\x00\x20\x88", 8);
  const std::string place("\x06\x80\x01\x10\x00\x00", 6);
  folder.add("blocks", begin + place + "\x06\x80\x04\x10" + std::string("\x00\x00\x03\x00", 4));
  folder.add("refused", begin + place + std::string("\x04\x00\x04\x82", 4));
  folder.add("absent", begin + place + std::string("\x05\x01\x04\x82", 4));
}

void add_plugins(const SeedFolder& folder) {
  folder.add("honest", std::string(64, '\0'));
  folder.add("mixed", std::string("\x00\x00\x04\x01\x10\x00\x20\x00\x91\x05\x00\xf2\x01", 13) +
                          std::string(40, '\x11'));
  folder.add("faulty", std::string(8, '\x00') + std::string(24, '\xc8'));
}

// --- call frame information

using tests::Bytes;
using tests::operator+;

void add_section(const SeedFolder& folder, const std::string& name,
                 const tests::CfiSection& section) {
  folder.add(name, std::string(section.bytes().begin(), section.bytes().end()));
}

// A function with a frame pointer, one without, an aligned frame and a stub of the .plt.
void add_functions(const SeedFolder& folder) {
  constexpr uint64_t kBegin = kUnwindCode.address;
  tests::CfiSection section(kUnwindSection);
  const uint32_t cie = section.add_usual_cie();
  section.add_usual_fde(
      cie, kBegin, 0x40,
      {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 0x30, 0x0c, 7, 8, 0xc6, 0x42, 0x0b});
  section.add_usual_fde(cie, kBegin + 0x50, 0x200, {0x44, 0x0e, 32, 0x03, 0x10, 0x01, 0x0e, 8});
  section.add_usual_fde(cie, kBegin + 0xff0, 0x100,
                        {0x45, 0x10, 6, 2, 0x76, 0, 0x43, 0x0f, 3, 0x76, 0x78, 0x06});
  section.add_mark();
  section.add_usual_fde(cie, kBegin + 0x2000, 0x20,
                        {0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a,
                         0x3b, 0x2a, 0x33, 0x24, 0x22});
  add_section(folder, "functions", section);
}

// What signal handlers return to, with absolute pointers, and what begins the stack.
void add_outer_frames(const SeedFolder& folder) {
  constexpr uint64_t kBegin = kUnwindCode.address;
  tests::CfiSection section(kUnwindSection);
  const uint32_t signal = section.add_cie("zRS", {0x00}, {});
  const Bytes pointers = tests::number(kBegin + 0x100) + tests::number(uint64_t{16}) + Bytes{0};
  section.add_fde(signal, pointers,
                  {0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 6,  3, 0x77, 0xf8, 0x00,
                   0x10, 7, 3,    0x77, 0xa0, 0x01, 0x10, 16, 3, 0x77, 0xa8, 0x01});
  const uint32_t first = section.add_cie("", {});
  section.add_fde(first, tests::number(kBegin) + tests::number(uint64_t{48}),
                  {0x07, 16, 0x02, 8, 0x09, 6, 3, 0x11, 16, 1, 0x12, 3, 0x7f, 0x16, 6, 1, 0x50});
  add_section(folder, "outer-frames", section);
}

void write_seeds(const std::filesystem::path& root) {
  for (const char* target : {"tape_reader", "recover"}) add_tapes(SeedFolder(root, target));
  add_symbols(SeedFolder(root, "symbols"));
  add_traces(SeedFolder(root, "import"));
  add_manifests(SeedFolder(root, "manifest"));
  add_reports(SeedFolder(root, "report"));
  add_gates(SeedFolder(root, "gate"));
  add_specs(SeedFolder(root, "spec"));
  add_rings(SeedFolder(root, "ring"));
  add_sessions(SeedFolder(root, "session"));
  add_heaps(SeedFolder(root, "heap_checks"));
  add_plugins(SeedFolder(root, "plugin"));
  add_functions(SeedFolder(root, "unwind"));
  add_outer_frames(SeedFolder(root, "unwind"));
}

}  // namespace
}  // namespace heaptape::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds DIR\n");
    return 2;
  }
  heaptape::fuzz::write_seeds(argv[1]);
}
