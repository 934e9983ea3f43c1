#include "replayer/sites/frame_text.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

const CodePlace kPlace{"/opt/lib/libapp.so", 0x1a2b, {}};

TEST(FrameText, HasFunctionFileAndLine) {
  const SourceFrame source{"parse(int)", "/src/app/parser.cc", 12};
  EXPECT_EQ(frame_text(kPlace, &source), "parse(int) (parser.cc:12)");
  EXPECT_EQ(frame_text(kPlace, &source, FilePath::kWhole), "parse(int) (/src/app/parser.cc:12)");
}

TEST(FrameText, HasWhatIsKnown) {
  const SourceFrame function{"parse", "", 0};
  const SourceFrame file{"", "a.c", 0};
  EXPECT_EQ(frame_text(kPlace, &function), "parse");
  EXPECT_EQ(frame_text(kPlace, &file), "libapp.so+0x1a2b (a.c)");
  EXPECT_EQ(frame_text(kPlace, nullptr), "libapp.so+0x1a2b");
}

// Its arrow ends no arguments.
TEST(FrameText, IsShortForOperatorsOfTemplates) {
  const SourceFrame source{"app::Pointer<" + std::string(50, 'k') + ">::operator->() const", "", 0};
  EXPECT_EQ(short_frame_text(kPlace, &source), "app::Pointer<...>::operator->");
}

TEST(FrameText, HasAddressesOutsideOfModules) {
  EXPECT_EQ(frame_text({"", 0x7f00, {}}, nullptr), "0x7f00");
}

TEST(FrameText, SaysWhereAStackWasCut) {
  EXPECT_EQ(frame_text({}, nullptr), "(cut)");
}

TEST(FrameText, IsFitToPrint) {
  const SourceFrame source{"a\nb", "c\x1b.c", 1};
  EXPECT_EQ(frame_text(kPlace, &source), "a\uFFFDb (c\uFFFD.c:1)");
}

}  // namespace
}  // namespace heaptape::replayer
