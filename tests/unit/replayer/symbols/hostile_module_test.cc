#include <gtest/gtest.h>

#include "replayer/symbols/symbolizer.h"
#include "tests/support/seeded_random.h"
#include "tests/support/symbol_targets.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

// A library with debug information that somebody changed.
class HostileModule : public testing::Test {
 protected:
  // Symbols without a build-id to compare, so that the file is read whatever it says.
  SymbolizedTape symbolize_file(const std::string& bytes) {
    tests::write_bytes(dir_.file("hostile.so"), bytes);
    schema::CodeMapping mapping = mapping_;
    mapping.path = dir_.file("hostile.so");
    mapping.build_id.clear();
    schema::Stacks stacks;
    stacks.add_mapping(mapping);
    const schema::Frame frame = {0, address_};
    stacks.add_frames(0, {&frame, 1});
    SymbolOptions options;
    options.module_seconds = 5;
    options.module_bytes = uint64_t{1} << 30;
    return symbolize(stacks, options);
  }
  // What holds of any file: one note at most, and one place that names the file.
  void expect_answer(const SymbolizedTape& tape) {
    EXPECT_LE(tape.notes.size(), 1u);
    ASSERT_EQ(tape.symbols.limit(), 2u);
    EXPECT_EQ(tape.symbols.find(1).module, dir_.file("hostile.so"));
  }

  tests::TempDir dir_;
  tests::SeededRandom random_;
  uint64_t address_ = tests::return_address_in("inlined_call");
  schema::CodeMapping mapping_ = tests::mapping_of(address_);
  std::string bytes_ = tests::read_bytes(tests::symbol_target("whole.so"));
};

TEST_F(HostileModule, IsReadAsLongAsNothingChanged) {
  EXPECT_EQ(symbolize_file(bytes_).symbols.find(1).source.size(), 3u);
}

TEST_F(HostileModule, WithWrongBytesGivesAnAnswer) {
  for (int run = 0; run < 200; ++run) {
    std::string changed = bytes_;
    for (uint64_t left = 1 + random_.below(40); left > 0; --left) {
      changed[random_.below(changed.size())] = static_cast<char>(random_.below(256));
    }
    expect_answer(symbolize_file(changed));
  }
}

TEST_F(HostileModule, WithWrongHeadersGivesAnAnswer) {
  for (int run = 0; run < 200; ++run) {
    std::string changed = bytes_;
    for (uint64_t left = 1 + random_.below(4); left > 0; --left) {
      const size_t table_bytes = 2048;  // that of sections is at the end
      const size_t at = random_.below(table_bytes);
      changed[random_.below(2) == 0 ? at : changed.size() - 1 - at] =
          static_cast<char>(random_.below(256));
    }
    expect_answer(symbolize_file(changed));
  }
}

TEST_F(HostileModule, CutShortGivesAnAnswer) {
  for (int run = 0; run < 100; ++run) {
    expect_answer(symbolize_file(bytes_.substr(0, random_.below(bytes_.size()))));
  }
}

}  // namespace
}  // namespace heaptape::replayer
