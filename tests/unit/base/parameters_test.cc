// "name=value", as models and scenarios take it.
#include "base/parameters.h"

#include <gtest/gtest.h>

namespace heaptape::base {
namespace {

const std::vector<Parameter> kParameters = {
    {"count", 10, "blocks"},
    {"order", 1, "of the frees", {"fifo", "lifo"}},
    {"cores", 2, "of the machine", {}, 1, 64},
};

Result<Values> parse(const std::vector<std::string>& sets) {
  return parse_values("the scenario 'fill'", kParameters, sets);
}

void expect_refused(const std::string& set, const std::string& message) {
  const auto values = parse({set});
  ASSERT_FALSE(values.ok()) << set;
  EXPECT_EQ(values.error().code, ErrorCode::kUsage);
  EXPECT_EQ(values.error().message, message);
}

TEST(Parameters, HaveTheirDefaults) {
  const Values values = *parse({});
  EXPECT_EQ(values["count"], 10u);
  EXPECT_EQ(values["order"], 1u);
}

TEST(Parameters, TakeNumbersWithUnits) {
  for (const auto& [text, number] :
       std::vector<std::pair<std::string, uint64_t>>{{"0", 0},
                                                     {"18446744073709551615", UINT64_MAX},
                                                     {"64KiB", 65'536},
                                                     {"2GiB", uint64_t{2} << 30},
                                                     {"10M", 10'000'000},
                                                     {"3k", 3'000}}) {
    EXPECT_EQ((*parse({"count=" + text}))["count"], number) << text;
  }
}

TEST(Parameters, SuggestTheNameOrChoiceThatWasMeant) {
  EXPECT_NE(parse({"cuont=3"}).error().message.find("(did you mean count?)"), std::string::npos);
  EXPECT_NE(parse({"order=fif"}).error().message.find("(did you mean fifo or lifo?)"),
            std::string::npos);
}

TEST(Parameters, TakeChoicesByTheirNames) {
  EXPECT_EQ((*parse({"order=fifo"}))["order"], 0u);
}

TEST(Parameters, TakeZeroAndOneForOffAndOn) {
  const std::vector<Parameter> parameters = {on_off("pins", Switch::kOn, "kept")};
  for (const char* off : {"pins=off", "pins=0"}) {
    EXPECT_FALSE(parse_values("it", parameters, {off})->is_on("pins")) << off;
  }
  for (const char* on : {"pins=on", "pins=1"}) {
    EXPECT_TRUE(parse_values("it", parameters, {"pins=off", on})->is_on("pins")) << on;
  }
}

TEST(Parameters, AreEnumeratorsWhereTheyAreChoices) {
  enum class Order : uint64_t { kFifo, kLifo };
  const Values values(
      std::vector<Parameter>{choice("order", Order::kLifo, "of the frees", {"fifo", "lifo"})});
  EXPECT_EQ(values.get<Order>("order"), Order::kLifo);
}

TEST(Parameters, TakeTheLastOfSeveral) {
  EXPECT_EQ((*parse({"count=1", "count=2"}))["count"], 2u);
}

TEST(Parameters, RefuseWhatIsNoNumber) {
  for (const char* set : {"count", "count=", "count=-1", "count=1x", "count=1 ", "count=0x10",
                          "count=18446744073709551616", "count=99999999999TiB", "count=1Kib"}) {
    expect_refused(set, "'" + std::string(set) +
                            "' is not of the form count=NUMBER (64, 64KiB, 10M: below 2^64)");
  }
}

TEST(Parameters, RefuseNumbersThatAreOutOfRange) {
  EXPECT_EQ((*parse({"cores=1"}))["cores"], 1u);
  EXPECT_EQ((*parse({"cores=64"}))["cores"], 64u);
  expect_refused("cores=0", "'cores=0' is out of range: cores is from 1 to 64");
  expect_refused("cores=1k", "'cores=1k' is out of range: cores is from 1 to 64");
}

TEST(Parameters, RefuseWhatIsNoneOfTheChoices) {
  expect_refused("order=1", "'order=1' is not valid; order can be: fifo, lifo");
  expect_refused("order=", "'order=' is not valid; order can be: fifo, lifo");
}

TEST(Parameters, RefuseNamesThatAreNone) {
  expect_refused("size=1",
                 "the scenario 'fill' has no parameter 'size'; it has count, order, cores");
  expect_refused("=1", "the scenario 'fill' has no parameter ''; it has count, order, cores");
}

TEST(Parameters, WriteDefaultsAsUsersDo) {
  EXPECT_EQ(kParameters[0].default_text(), "10");
  EXPECT_EQ(kParameters[1].default_text(), "lifo");
}

TEST(Parameters, CanBeUnsetWhereThatIsTheDefault) {
  const std::vector<Parameter> parameters = {{"limit", Parameter::kUnset, "a limit"}};
  EXPECT_EQ(parameters[0].default_text(), "unset");
  EXPECT_EQ((*parse_values("it", parameters, {"limit=1", "limit=unset"}))["limit"],
            Parameter::kUnset);
  expect_refused("count=unset",
                 "'count=unset' is not of the form count=NUMBER (64, 64KiB, 10M: below 2^64)");
}

TEST(Parameters, TakeNoNumberForUnset) {
  const std::vector<Parameter> parameters = {{"limit", Parameter::kUnset, "a limit"}};
  const auto values = parse_values("it", parameters, {"limit=18446744073709551615"});
  ASSERT_FALSE(values.ok());
  EXPECT_EQ(
      values.error().message,
      "'limit=18446744073709551615' is out of range: limit must be a smaller number, or unset");
}

}  // namespace
}  // namespace heaptape::base
