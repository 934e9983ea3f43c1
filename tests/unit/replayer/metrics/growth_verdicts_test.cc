// Which of the published cases the growth check names, and which it passes.
#include <gtest/gtest.h>

#include "replayer/metrics/growth.h"
#include "tests/support/scenario_tapes.h"

namespace heaptape::scenarios {
namespace {

using replayer::growth_sentence;
using replayer::GrowthFit;
using tests::replay_scenario;

// 20,000 pages.
const std::vector<std::string> kCheckout = {"bytes=80000KiB"};

std::vector<GrowthFit> growth(const std::string& scenario, const std::vector<std::string>& sets,
                              const std::string& spec) {
  return replay_scenario(scenario, sets, spec).growth;
}

TEST(GrowthVerdict, NamesTheListThatIsFreedFirstToLast) {
  const auto fits = growth("cvs-pagealign", kCheckout, "model:pagealign-list");
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_NEAR(fits[0].exponent, 1.0, 0.1);
  EXPECT_EQ(growth_sentence(fits[0]),
            "free: cost grows as n^1.0 with the list length: 199,990,000 nodes skipped over 20,000 "
            "frees; quadratic overall");
}

TEST(GrowthVerdict, NamesTheListOfTheMallocBackEndToo) {
  const auto fits = growth("cvs-pagealign", kCheckout, "model:pagealign-malloc");
  EXPECT_NEAR(replayer::worst_exponent(fits), 1.0, 0.1);
}

TEST(GrowthVerdict, NamesALmdbSearchThatFailsTimeAndAgain) {
  for (const char* set : {"ids=31606", "ids=200k"}) {
    const auto fits = growth("lmdb-synthetic", {set, "n=20"}, "model:lmdb:variant=f0");
    EXPECT_TRUE(fits.at(0).grows) << set;
    EXPECT_NEAR(fits.at(0).exponent, 1.0, 0.1) << set;
  }
}

TEST(GrowthVerdict, PassesTheSameListFreedLastToFirst) {
  std::vector<std::string> sets = kCheckout;
  sets.push_back("order=lifo");
  EXPECT_EQ(replayer::worst_exponent(growth("cvs-pagealign", sets, "model:pagealign-list")), 0);
}

TEST(GrowthVerdict, PassesTheHashMapAndMemalign) {
  for (const char* spec : {"model:pagealign-hash", "model:pagealign-memalign", "model:ptmalloc"}) {
    const auto fits = growth("cvs-pagealign", kCheckout, spec);
    EXPECT_FALSE(fits.empty()) << spec;
    EXPECT_EQ(replayer::worst_exponent(fits), 0) << spec;
  }
}

TEST(GrowthVerdict, PassesOpenBsd) {
  for (const char* spec : {"model:pagealign-list", "model:pagealign-memalign", "model:ptmalloc"}) {
    EXPECT_EQ(replayer::worst_exponent(growth("openbsd-cvs", kCheckout, spec)), 0) << spec;
  }
}

TEST(GrowthVerdict, PassesAFewLongSearchesOfLmdb) {
  const auto fits = growth("lmdb-synthetic", {"ids=200k", "n=20"}, "model:lmdb:variant=f1");
  EXPECT_EQ(replayer::worst_exponent(fits), 0);
}

}  // namespace
}  // namespace heaptape::scenarios
