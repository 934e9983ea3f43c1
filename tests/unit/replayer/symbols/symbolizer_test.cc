#include "replayer/symbols/symbolizer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "tests/support/symbol_targets.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

namespace fs = std::filesystem;
using tests::marked_line;
using tests::symbol_target;

class SymbolizerTest : public testing::Test {
 protected:
  // Of the call in `function`, as if its library had been at `path`.
  SymbolizedTape symbolize_call(const char* function, const std::string& path) {
    return symbolize(tests::stack_at(tests::return_address_in(function), path), options_, &known_);
  }
  // The same, with another build-id on the tape.
  SymbolizedTape symbolize_build(const std::string& build_id, const std::string& path) {
    schema::Stacks stacks;
    const uint64_t address = tests::return_address_in("plain_call");
    schema::CodeMapping mapping = tests::mapping_of(address);
    mapping.path = path;
    mapping.build_id = build_id;
    stacks.add_mapping(mapping);
    const schema::Frame frame = {0, address};
    stacks.add_frames(0, {&frame, 1});
    return symbolize(stacks, options_);
  }
  // Makes the debug file findable by the build-id of the target.
  void add_debug_folder() {
    const std::string id = tests::mapping_of(tests::return_address_in("plain_call")).build_id;
    std::string hex;
    for (const char byte : id) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
      hex += digits;
    }
    const fs::path folder = dir_.path() / "debug/.build-id" / hex.substr(0, 2);
    fs::create_directories(folder);
    fs::copy_file(symbol_target("target.debug"), folder / (hex.substr(2) + ".debug"));
    options_.debug_dirs.push_back(dir_.file("debug"));
  }
  std::string copy(const std::string& name) {
    fs::copy_file(symbol_target(name), dir_.file(name));
    return dir_.file(name);
  }

  tests::TempDir dir_;
  SymbolOptions options_;
  Symbols known_;
};

const std::vector<SourceFrame>& source_of(const SymbolizedTape& tape) {
  return tape.symbols.find(1).source;
}

std::string function_of(const SymbolizedTape& tape) {
  return source_of(tape).empty() ? "" : source_of(tape).back().function;
}

TEST_F(SymbolizerTest, NamesCodeThatWasMadeAtRunTime) {
  schema::Stacks stacks;
  const std::vector<schema::Frame> frames = {{0, 0x1008}, {1, 0x3008}};
  stacks.add_frames(0, frames);
  stacks.add_mapping({2, {0x1000, 0x1020}, 0, "[jit]", "", "py::parse:/srv/app.py"});
  const SymbolizedTape tape = symbolize(stacks, options_);
  EXPECT_TRUE(tape.notes.empty());
  const CodePlace expected{"[jit]", 7, {{"parse", "/srv/app.py", 0}}};
  EXPECT_EQ(tape.symbols.find(1), expected);
  EXPECT_TRUE(tape.symbols.find(2).source.empty());
}

TEST_F(SymbolizerTest, NamesAFunctionAndItsLine) {
  const SymbolizedTape tape = symbolize_call("plain_call", symbol_target("whole.so"));
  ASSERT_EQ(source_of(tape).size(), 1u);
  EXPECT_EQ(source_of(tape)[0].function, "plain_call");
  EXPECT_EQ(fs::path(source_of(tape)[0].file).filename(), "symbols_target.cc");
  EXPECT_EQ(source_of(tape)[0].line, marked_line("plain"));
  EXPECT_TRUE(tape.notes.empty()) << tape.notes[0];
}

TEST_F(SymbolizerTest, NamesWhatWasInlinedFromTheInsideOut) {
  const SymbolizedTape tape = symbolize_call("inlined_call", symbol_target("whole.so"));
  ASSERT_EQ(source_of(tape).size(), 3u);
  // GCC gives a function of one file no linkage name, which would have the arguments.
  const std::string hidden = source_of(tape)[0].function;
  EXPECT_EQ(hidden.substr(0, hidden.find("(void")), "marked::(anonymous namespace)::hidden");
  EXPECT_EQ(source_of(tape)[0].line, marked_line("hidden"));
  EXPECT_EQ(source_of(tape)[1].function, "marked::Box<int>::open(int, void (*)())");
  EXPECT_EQ(source_of(tape)[1].line, marked_line("open"));
  EXPECT_EQ(source_of(tape)[2].function, "marked::exported(int, void (*)())");
  EXPECT_EQ(source_of(tape)[2].line, marked_line("exported"));
}

TEST_F(SymbolizerTest, NamesWithParametersWhatIsNotExported) {
  const SymbolizedTape tape = symbolize_call("unexported_call", symbol_target("whole.so"));
  EXPECT_EQ(function_of(tape), "marked::(anonymous namespace)::unexported(void (*)())");
}

// The section of code of a library begins with what no unit of its source has.
TEST_F(SymbolizerTest, NamesAFunctionAfterCodeOfNoUnit) {
  const uint64_t address = tests::return_address_in("unexported_call");
  schema::CodeMapping mapping = tests::mapping_of(address);
  mapping.path = symbol_target("whole.so");
  schema::Stacks stacks;
  stacks.add_mapping(mapping);
  const std::vector<schema::Frame> frames = {{0, mapping.range.begin + 1}, {0, address}};
  stacks.add_frames(0, frames);
  const Symbols symbols = symbolize(stacks, options_).symbols;
  for (const SourceFrame& frame : symbols.find(1).source) EXPECT_EQ(frame.file, "");
  ASSERT_FALSE(symbols.find(2).source.empty());
  EXPECT_EQ(symbols.find(2).source.back().function,
            "marked::(anonymous namespace)::unexported(void (*)())");
}

TEST_F(SymbolizerTest, SaysAddressesAsTheSymbolsOfTheFileHaveThem) {
  const uint64_t address = tests::return_address_in("plain_call");
  const SymbolizedTape tape = symbolize_call("plain_call", symbol_target("whole.so"));
  const schema::CodeMapping mapping = tests::mapping_of(address);
  // It is linked for addresses that are higher than the offsets in the file.
  EXPECT_EQ(tape.symbols.find(1).offset,
            address - 1 - mapping.range.begin + mapping.file_offset + 0x10000);
}

TEST_F(SymbolizerTest, NamesFunctionsWithoutDebugInformation) {
  const SymbolizedTape tape = symbolize_call("unexported_call", symbol_target("names.so"));
  EXPECT_EQ(
      source_of(tape),
      (std::vector<SourceFrame>{{"marked::(anonymous namespace)::unexported(void (*)())", "", 0}}));
  ASSERT_EQ(tape.notes.size(), 1u);
  EXPECT_NE(tape.notes[0].find("there is no debug information for '"), std::string::npos)
      << tape.notes[0];
}

TEST_F(SymbolizerTest, NamesExportedFunctionsOfAStrippedFile) {
  EXPECT_EQ(function_of(symbolize_call("plain_call", symbol_target("bare.so"))), "plain_call");
}

TEST_F(SymbolizerTest, FindsNoFunctionBetweenTwoThatAreKnown) {
  const SymbolizedTape tape = symbolize_call("unexported_call", symbol_target("bare.so"));
  EXPECT_TRUE(source_of(tape).empty());
  EXPECT_EQ(tape.symbols.find(1).module, symbol_target("bare.so"));
}

// Byte by byte. A label without a size ends at the next symbol of code, below those with a size;
// the smaller of two functions is above.
TEST_F(SymbolizerTest, NamesCodeFromTheFirstByteOfASymbolToItsLast) {
  const uint64_t begin = tests::address_of("edge_sized");
  std::vector<schema::Frame> frames;
  for (uint64_t i = 0; i < 64; ++i) frames.push_back({0, begin + i + 1});  // behind the byte
  schema::CodeMapping mapping = tests::mapping_of(begin);
  mapping.path = symbol_target("names.so");
  schema::Stacks stacks;
  stacks.add_mapping(mapping);
  stacks.add_frames(0, frames);
  const Symbols symbols = symbolize(stacks, options_).symbols;
  const auto expected = [](uint64_t i) -> std::string {
    if (i < 8) return "edge_sized";
    if (i < 16) return "";
    if (i < 24) return "edge_label";
    if (i < 32) return "edge_alias";
    if (i >= 36 && i < 40) return "edge_inner";
    if (i < 48) return "edge_outer";
    if (i < 56) return "edge_inside";
    return i < 60 ? "edge_short" : "edge_last";
  };
  for (uint64_t i = 0; i < 64; ++i) {
    const auto& source = symbols.find(static_cast<schema::FrameNumber>(i + 1)).source;
    EXPECT_EQ(source.empty() ? "" : source.back().function, expected(i)) << i;
  }
}

TEST_F(SymbolizerTest, FindsADebugFileByItsBuildId) {
  add_debug_folder();
  const SymbolizedTape tape = symbolize_call("inlined_call", copy("bare.so"));
  EXPECT_EQ(source_of(tape).size(), 3u);
  EXPECT_TRUE(tape.notes.empty());
}

TEST_F(SymbolizerTest, FindsADebugFileByItsLink) {
  copy("target.debug");
  EXPECT_EQ(source_of(symbolize_call("inlined_call", copy("linked.so"))).size(), 3u);
}

TEST_F(SymbolizerTest, IgnoresALinkedFileOfAnotherBuild) {
  fs::copy_file(symbol_target("other.so"), dir_.file("target.debug"));
  const SymbolizedTape tape = symbolize_call("plain_call", copy("linked.so"));
  EXPECT_EQ(source_of(tape), (std::vector<SourceFrame>{{"plain_call", "", 0}}));
}

TEST_F(SymbolizerTest, DoesWithoutAFileThatHasADebugFile) {
  add_debug_folder();
  const SymbolizedTape tape = symbolize_call("inlined_call", dir_.file("gone.so"));
  EXPECT_EQ(source_of(tape).size(), 3u);
  EXPECT_TRUE(tape.notes.empty());
}

TEST_F(SymbolizerTest, PrefersTheDebugFileOfTheBuildToAnotherBuild) {
  add_debug_folder();
  const SymbolizedTape tape = symbolize_call("plain_call", symbol_target("other.so"));
  ASSERT_EQ(source_of(tape).size(), 1u);
  EXPECT_EQ(source_of(tape)[0].line, marked_line("plain"));
}

TEST_F(SymbolizerTest, LeavesTheCodeOfAnotherBuildAsOffsets) {
  const SymbolizedTape tape = symbolize_build("other", symbol_target("whole.so"));
  EXPECT_TRUE(source_of(tape).empty());
  EXPECT_EQ(tape.symbols.find(1).module, symbol_target("whole.so"));
  ASSERT_EQ(tape.notes.size(), 1u);
  EXPECT_NE(tape.notes[0].find("not the file that was recorded"), std::string::npos);
}

TEST_F(SymbolizerTest, TrustsAFileWhoseBuildWasNotRecorded) {
  EXPECT_EQ(function_of(symbolize_build("", symbol_target("whole.so"))), "plain_call");
}

TEST_F(SymbolizerTest, KnowsAFileThatWasReplacedByItself) {
  EXPECT_EQ(function_of(symbolize_call("plain_call", symbol_target("whole.so") + " (deleted)")),
            "plain_call");
}

TEST_F(SymbolizerTest, MistrustsAReplacedFileWhoseBuildWasNotRecorded) {
  EXPECT_EQ(function_of(symbolize_build("", symbol_target("whole.so") + " (deleted)")), "");
}

TEST_F(SymbolizerTest, SaysThatAFileIsGone) {
  const SymbolizedTape tape = symbolize_call("plain_call", dir_.file("gone.so"));
  ASSERT_EQ(tape.notes.size(), 1u);
  EXPECT_NE(tape.notes[0].find("no longer exists"), std::string::npos) << tape.notes[0];
}

TEST_F(SymbolizerTest, OpensNoPipe) {
  ASSERT_EQ(mkfifo(dir_.file("pipe").c_str(), 0600), 0);
  const SymbolizedTape tape = symbolize_call("plain_call", dir_.file("pipe"));
  ASSERT_EQ(tape.notes.size(), 1u);
  EXPECT_NE(tape.notes[0].find("cannot be read as an ELF file"), std::string::npos);
}

TEST_F(SymbolizerTest, SaysNothingOfWhatIsNoFile) {
  const SymbolizedTape tape = symbolize_call("plain_call", "[vdso]");
  EXPECT_EQ(tape.symbols.find(1).module, "[vdso]");
  EXPECT_TRUE(tape.notes.empty());
}

TEST_F(SymbolizerTest, SaysNothingOfAFileWithoutFrames) {
  schema::Stacks stacks;
  stacks.add_mapping({0, {0x1000, 0x2000}, 0, dir_.file("gone.so"), ""});
  EXPECT_TRUE(symbolize(stacks, options_).notes.empty());
}

TEST_F(SymbolizerTest, SaysThatAFileTakesTooMuchMemory) {
  options_.module_bytes = 0;
  const SymbolizedTape tape = symbolize_call("plain_call", symbol_target("whole.so"));
  EXPECT_TRUE(source_of(tape).empty());
  ASSERT_EQ(tape.notes.size(), 1u);
  EXPECT_NE(tape.notes[0].find("cannot be read: it "), std::string::npos) << tape.notes[0];
}

TEST_F(SymbolizerTest, SaysThatAFileWithoutBuildIdWasChanged) {
  const std::string path = copy("whole.so");
  const timespec times[2] = {{2'000'000'000, 0}, {2'000'000'000, 0}};  // read, changed
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const auto notes_until = [&](uint64_t seconds) {
    options_.recorded_until_unix_ns = seconds * 1'000'000'000;
    return symbolize_build("", path).notes;
  };
  ASSERT_EQ(notes_until(1'999'999'999).size(), 1u);
  EXPECT_NE(notes_until(1'999'999'999)[0].find("was changed after it was recorded"),
            std::string::npos);
  EXPECT_TRUE(notes_until(2'000'000'000).empty());
  EXPECT_TRUE(notes_until(0).empty());
}

// What a file beside the tape knows of the one frame.
Symbols known_of(const std::string& module, const SourceFrame& source) {
  return {{{}, {module, 7, {source}}}, {0, 1}};
}

TEST_F(SymbolizerTest, TakesWhatIsKnownOfAFileThatIsGone) {
  const std::string gone = dir_.file("gone.so");
  known_ = known_of(gone, {"old", "a.cc", 3});
  const SymbolizedTape tape = symbolize_call("plain_call", gone);
  EXPECT_EQ(tape.symbols.find(1), known_.find(1));
  EXPECT_TRUE(tape.notes.empty()) << tape.notes[0];
}

TEST_F(SymbolizerTest, TakesLinesThatTheFileDoesNotHave) {
  known_ = known_of(symbol_target("names.so"), {"old", "a.cc", 3});
  EXPECT_EQ(function_of(symbolize_call("plain_call", symbol_target("names.so"))), "old");
  known_ = known_of(symbol_target("names.so"), {"old", "", 0});
  EXPECT_EQ(function_of(symbolize_call("plain_call", symbol_target("names.so"))), "plain_call");
}

TEST_F(SymbolizerTest, PrefersTheFilesToWhatIsKnown) {
  known_ = known_of(symbol_target("whole.so"), {"old", "a.cc", 3});
  EXPECT_EQ(function_of(symbolize_call("plain_call", symbol_target("whole.so"))), "plain_call");
}

TEST_F(SymbolizerTest, TakesNothingOfAnotherModule) {
  known_ = known_of("/other", {"old", "a.cc", 3});
  const SymbolizedTape tape = symbolize_call("plain_call", dir_.file("gone.so"));
  EXPECT_TRUE(source_of(tape).empty());
  EXPECT_EQ(tape.notes.size(), 1u);
}

TEST_F(SymbolizerTest, SaysOnceWhatToDoAboutMissingDebugInformation) {
  schema::Stacks stacks;
  std::vector<schema::Frame> frames;
  for (const char* name : {"names.so", "linked.so", "bare.so"}) {
    const uint64_t address = tests::return_address_in("plain_call");
    schema::CodeMapping mapping = tests::mapping_of(address);
    mapping.path = copy(name);
    mapping.range.begin += frames.size() << 32;
    mapping.range.end += frames.size() << 32;
    stacks.add_mapping(mapping);
    frames.push_back({0, address + (frames.size() << 32)});
  }
  stacks.add_frames(0, frames);
  const std::vector<std::string> notes = symbolize(stacks, options_).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("names.so', '"), std::string::npos) << notes[0];
  for (const char* remedy : {"-dbgsym", "-g, ", "--debug-dir", "--debuginfod"}) {
    EXPECT_NE(notes[0].find(remedy), std::string::npos) << notes[0];
  }
  options_.debuginfod = true;
  EXPECT_EQ(symbolize(stacks, options_).notes.at(0).find("--debuginfod"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
