#include "replayer/symbols/symbol_file.h"

#include <gtest/gtest.h>

#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class SymbolFileTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_symbols(path_, symbols_, {123, 45}).ok()); }

  // The error of reading a file with these bytes.
  base::ErrorCode error_of(const std::string& bytes) {
    tests::write_bytes(path_, bytes);
    const auto file = read_symbols(path_);
    EXPECT_FALSE(file.ok());
    return file.ok() ? base::ErrorCode::kUsage : file.error().code;
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("tape.symbols");
  Symbols symbols_{{{},
                    {"/lib/a.so", 0x123, {{"inner(int)", "/src/a.cc", 7}, {"outer", "", 0}}},
                    {"/lib/\xff.so", 0x456, {}},
                    {"", 0x7f0000001000, {}}},
                   {0, 1, 2, 3, 1}};
};

TEST_F(SymbolFileTest, HasWhatWasWritten) {
  const auto file = read_symbols(path_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tape, (TapeIdentity{123, 45}));
  EXPECT_EQ(file->symbols.places(), symbols_.places());
  ASSERT_EQ(file->symbols.limit(), symbols_.limit());
  for (schema::FrameNumber frame = 1; frame < symbols_.limit(); ++frame) {
    EXPECT_EQ(file->symbols.index_of(frame), symbols_.index_of(frame));
  }
}

TEST_F(SymbolFileTest, MayBeOfNoFrames) {
  ASSERT_TRUE(write_symbols(path_, {}, {}).ok());
  EXPECT_EQ(read_symbols(path_)->symbols.limit(), 0u);
}

TEST_F(SymbolFileTest, CutsTextsThatAreTooLong) {
  ASSERT_TRUE(write_symbols(path_, {{{std::string(1 << 20, 'x'), 0, {}}}, {0}}, {}).ok());
  EXPECT_EQ(read_symbols(path_)->symbols.places()[0].module.size(), size_t{64} << 10);
}

TEST_F(SymbolFileTest, IsNoOtherFile) {
  EXPECT_EQ(error_of(""), base::ErrorCode::kForeign);
  EXPECT_EQ(error_of("HTSYMBOL"), base::ErrorCode::kForeign);
  EXPECT_EQ(error_of(std::string(1000, 'x')), base::ErrorCode::kForeign);
}

TEST_F(SymbolFileTest, NamesNoPlaceThatItLacks) {
  ASSERT_TRUE(write_symbols(path_, {{{}}, {0, 1}}, {}).ok());
  EXPECT_EQ(read_symbols(path_).error().code, base::ErrorCode::kDamaged);
}

TEST_F(SymbolFileTest, CutShortIsDamaged) {
  const std::string bytes = tests::read_bytes(path_);
  for (size_t size = 16; size < bytes.size(); size += 8) {
    EXPECT_EQ(error_of(bytes.substr(0, size)), base::ErrorCode::kDamaged) << size;
  }
}

TEST_F(SymbolFileTest, WithWrongBytesIsReadOrRefused) {
  tests::SeededRandom random;
  const std::string bytes = tests::read_bytes(path_);
  for (int run = 0; run < 2000; ++run) {
    std::string changed = bytes;
    for (uint64_t left = 1 + random.below(4); left > 0; --left) {
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    }
    tests::write_bytes(path_, changed);
    const auto file = read_symbols(path_);
    if (!file) continue;
    for (schema::FrameNumber frame = 1; frame < file->symbols.limit(); ++frame) {
      EXPECT_LT(file->symbols.index_of(frame), file->symbols.places().size());
    }
  }
}

}  // namespace
}  // namespace heaptape::replayer
