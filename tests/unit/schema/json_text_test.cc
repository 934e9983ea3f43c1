#include "schema/json_text.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "schema/report/report.capnp.h"

namespace heaptape::schema {
namespace {

// What JSON makes of an integer of a message.
std::string written(uint64_t number) {
  capnp::MallocMessageBuilder message;
  auto calls = message.initRoot<wire::TapeStats::Calls>();
  calls.setCount(number);
  const std::string json = json_text(calls.asReader());
  const size_t colon = json.find(':');
  return json.substr(colon + 2, json.find_first_of(" ,}\n", colon + 2) - colon - 2);
}

TEST(JsonText, WritesIntegersThatADoubleHoldsAsNumbers) {
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(80'000), "80000");
  EXPECT_EQ(written(kMaxJsonNumber), "9007199254740992");
}

TEST(JsonText, WritesGreaterIntegersAsStrings) {
  EXPECT_EQ(written(kMaxJsonNumber + 1), "\"9007199254740993\"");
  EXPECT_EQ(written(UINT64_MAX), "\"18446744073709551615\"");
}

TEST(JsonText, WritesTheNumbersOfListsTheSameWay) {
  capnp::MallocMessageBuilder message;
  auto at = message.initRoot<wire::Timeline>().initAt(2);
  at.set(0, 12);
  at.set(1, UINT64_MAX);
  const std::string json = json_text(message.getRoot<wire::Timeline>().asReader());
  EXPECT_NE(json.find("[12, \"18446744073709551615\"]"), std::string::npos) << json;
}

TEST(JsonText, IsReadBackByAnyCodec) {
  for (const uint64_t number : {uint64_t{1} << 52, kMaxJsonNumber, kMaxJsonNumber + 1}) {
    const std::string json = "{\"count\": " + written(number) + "}";
    capnp::MallocMessageBuilder message;
    auto calls = message.initRoot<wire::TapeStats::Calls>();
    capnp::JsonCodec().decode(kj::arrayPtr(json.data(), json.size()), calls);
    EXPECT_EQ(calls.getCount(), number);
  }
}

}  // namespace
}  // namespace heaptape::schema
