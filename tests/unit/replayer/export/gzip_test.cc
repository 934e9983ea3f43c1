#include "replayer/export/gzip.h"

#include <gtest/gtest.h>

#include "tests/support/gunzip.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

TEST(Gzip, ComesBack) {
  for (const std::string text : {"", "a", "heaptape heaptape heaptape"}) {
    EXPECT_EQ(tests::gunzip(gzip(text)), text);
  }
}

TEST(Gzip, TakesTextOfAnyLength) {
  tests::Random random(1);
  for (const size_t size : {size_t{1} << 20, (size_t{1} << 20) + 1, size_t{5} << 20}) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random.next());
    EXPECT_TRUE(tests::gunzip(gzip(text)) == text) << size;
  }
}

TEST(Gzip, IsTheSameForTheSameText) {
  EXPECT_EQ(gzip("heaptape"), gzip("heaptape"));
}

}  // namespace
}  // namespace heaptape::replayer
