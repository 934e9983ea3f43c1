
#include <gtest/gtest.h>

#include "replayer/report/html/page_data.h"
#include "tests/support/stack_tapes.h"

namespace heaptape::replayer {
namespace {

// Sites of the functions "f1f", "f2f", ...
class SiteData : public testing::Test {
 protected:
  static constexpr uint32_t kSites = 40;

  static Symbols symbols() {
    std::vector<CodePlace> places(1);
    std::vector<uint32_t> numbers(1);
    for (uint32_t i = 1; i <= kSites; ++i) {
      places.push_back({"/opt/app", i, {{"f" + std::to_string(i) + "f", "/src/a.cc", i}}});
      numbers.push_back(i);
    }
    return {std::move(places), std::move(numbers)};
  }
  static schema::Stacks stacks() {
    schema::Stacks all;
    all.add_frames(0, std::vector<schema::Frame>(kSites, {0, 0x1000}));
    return all;
  }
  void add(const StackTotals& totals) {
    const auto stack = static_cast<schema::FrameNumber>(table_.rows.size() + 1);
    table_.rows.push_back(
        {.site = sites_.of_stack(stack), .totals = totals, .median_lifetime = {}});
  }
  bool has(uint32_t site) {
    JsonWriter out;
    write_sites(out, {sites_, table_, {}});
    return out.text().find("\"f" + std::to_string(site) + "f\"") != std::string::npos;
  }

  Symbols symbols_ = symbols();
  Sites sites_{stacks(), symbols_, {}};
  SiteTable table_;
};

TEST_F(SiteData, HasTheTenGreatestByEachValue) {
  for (uint64_t i = 0; i < 20; ++i) add({.calls = 20 - i, .peak_bytes = 20 - i});
  add({.live_bytes = 1});
  add({.asked_bytes = 1});
  add({.calls = 100});
  add({.temporaries = 1});
  EXPECT_TRUE(has(9));
  EXPECT_TRUE(has(10));
  EXPECT_FALSE(has(15));
  for (uint32_t site = 21; site <= 24; ++site) EXPECT_TRUE(has(site)) << site;
}

}  // namespace
}  // namespace heaptape::replayer
