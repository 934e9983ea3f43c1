#include "schema/report/report_json.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/golden.h"
#include "tests/support/reports.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

class ReportJson : public testing::Test {
 protected:
  static ParsedReport parse(const std::string& text) {
    auto report = parse_report("x.json", text);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return std::move(*report);
  }
  static base::Error error_of(const std::string& text) {
    const auto report = parse_report("x.json", text);
    EXPECT_FALSE(report.ok());
    return report.ok() ? base::Error{} : report.error();
  }
  static void expect_error(const std::string& text, base::ErrorCode code, const std::string& part) {
    const base::Error error = error_of(text);
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find("'x.json'"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
    EXPECT_LT(error.message.size(), 400u) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  }
  // A report with nothing but `field` beside what every report has.
  static std::string with(const std::string& field) {
    return R"({"version":1,"tape":{},)" + field + "}";
  }
  static std::string repeated(const std::string& piece, size_t times) {
    std::string text;
    for (size_t i = 0; i < times; ++i) text += piece;
    return text;
  }
};

TEST_F(ReportJson, HasTheKeysOfTheDesign) {
  const std::string json = tests::sample_report_json();
  std::istringstream keys(
      "version tape path events allocations frees reallocations threads bytesPerEvent losses runs "
      "label backend touch end liveCount liveBytes usableBytes committedBytes residentBytes "
      "cumulativeBytesUpper cumulativeBytesLower holes peak value at fidelity sameOffsetShare "
      "firstDifference counters name latency growth timeline count bytes largest over64KiB "
      "over1MiB "
      "over8MiB topBytes histogram log2Size");
  for (std::string key; keys >> key;) {
    EXPECT_NE(json.find('"' + key + "\":"), std::string::npos) << key;
  }
}

TEST_F(ReportJson, ComesBackAsItWasWritten) {
  const std::string json = tests::sample_report_json();
  EXPECT_EQ(*to_json(parse(json).root()), json);
}

TEST_F(ReportJson, KeepsEvery64BitInteger) {
  const ParsedReport report = parse(tests::sample_report_json());
  EXPECT_EQ(report.root().getRuns()[0].getEnd().getCumulativeBytesUpper(), UINT64_MAX);
  EXPECT_EQ(report.root().getRuns()[0].getEnd().getCumulativeBytesLower(), 9007199254740993u);
}

TEST_F(ReportJson, ReadsIntegersThatAreNumbersToo) {
  EXPECT_EQ(parse(R"({"version":1,"tape":{"events":123456}})").root().getTape().getEvents(),
            123456u);
}

TEST_F(ReportJson, IgnoresFieldsOfLaterWriters) {
  EXPECT_EQ(parse(with(R"("weather":{"rain":[true,null]})")).root().getRuns().size(), 0u);
}

TEST_F(ReportJson, StaysUtf8WhenThePathIsNot) {
  capnp::MallocMessageBuilder message;
  message.initRoot<wire::Report>().initTape().setPath("caf\xe9.tape");
  const std::string json = *to_json(message.getRoot<wire::Report>().asReader());
  EXPECT_NE(json.find("caf\xef\xbf\xbd.tape"), std::string::npos) << json;
}

// Python's json.dumps, and any reader that writes ASCII.
TEST_F(ReportJson, ReadsEscapesAsTheCharactersThatTheyMean) {
  const auto path_of = [](const std::string& json) {
    return std::string(parse(R"({"version":1,"tape":{"path":")" + json + "\"}}")
                           .root()
                           .getTape()
                           .getPath()
                           .cStr());
  };
  EXPECT_EQ(path_of(R"(caf\u00e9 \ud83d\ude00 \u001b\ud83d)"), "caf\u00e9 \U0001F600 \x1b\uFFFD");
  EXPECT_EQ(path_of(R"(\u0022,\u005c)"), "\",\\");
}

TEST_F(ReportJson, WithAnEscapeThatIsNoneIsDamaged) {
  for (const char* escape : {R"(\u00g0)", R"(\u12)", R"(\u-123)", R"(\u)"}) {
    expect_error(with(R"("x":")" + std::string(escape) + "\""), base::ErrorCode::kDamaged,
                 "is not well-formed JSON: ");
  }
}

TEST_F(ReportJson, HasControlCharactersThatComeBack) {
  capnp::MallocMessageBuilder message;
  auto report = message.initRoot<wire::Report>();
  report.setVersion(1);
  report.initTape().setPath("a\x1f\x0e.tape");
  const std::string json = *to_json(message.getRoot<wire::Report>().asReader());
  EXPECT_EQ(parse(json).root().getTape().getPath(), "a\x1f\x0e.tape");
}

TEST_F(ReportJson, OfVersion1StaysReadable) {
  const auto report = read_report(tests::golden_path("report-v1.json"));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->root().getTape().getEvents(), 7300000u);
  const auto runs = report->root().getRuns();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].getPeak().getCommittedBytes().getAt(), 6100000u);
  EXPECT_EQ(runs[1].getCounters()[0].getValue(), UINT64_MAX);
  EXPECT_EQ(runs[1].getTimeline().getCommittedBytes()[2], 83886080u);
}

TEST_F(ReportJson, OfAnotherVersionIsRefusedByName) {
  expect_error(R"({"version":2,"tape":{}})", base::ErrorCode::kNewerVersion,
               "is a report of version 2, and this heaptape reads version 1: use the heaptape");
}

TEST_F(ReportJson, WithoutAVersionIsForeign) {
  expect_error(R"({"tape":{},"runs":[]})", base::ErrorCode::kForeign, "is not a heaptape report");
}

TEST_F(ReportJson, WithAnOddVersionIsForeign) {
  for (const char* version : {"0", "-1", "1.5", "1e300", "\"1\"", "null", "[1]", "\"NaN\""}) {
    expect_error(std::string(R"({"tape":{},"version":)") + version + "}", base::ErrorCode::kForeign,
                 "is not a heaptape report");
  }
}

TEST_F(ReportJson, OfAnotherKindIsForeign) {
  expect_error(R"({"version":1,"lockfileVersion":3})", base::ErrorCode::kForeign,
               "has no \"tape\"");
  expect_error("[1]", base::ErrorCode::kForeign, "not a JSON object");
  expect_error("17", base::ErrorCode::kForeign, "not a JSON object");
}

TEST_F(ReportJson, ThatIsNotJsonIsDamaged) {
  for (const char* text :
       {"garbage", "{\"version\":1,}", "{} x", "{\"a\":tru}", "{\"a\" 1}", "{\"a\":\"\\x\"}",
        "\x7f"
        "ELF",
        "nul"}) {
    expect_error(text, base::ErrorCode::kDamaged, "is not well-formed JSON: ");
  }
}

TEST_F(ReportJson, CutAnywhereIsDamaged) {
  const std::string json = tests::sample_report_json();
  for (size_t size = 0; size < json.size() - 2; ++size) {
    expect_error(json.substr(0, size), base::ErrorCode::kDamaged, "is not well-formed JSON: ");
  }
}

TEST_F(ReportJson, WithAValueOfTheWrongKindIsDamaged) {
  for (const char* field :
       {R"("runs":5)", R"("runs":[1])", R"("runs":[{"label":7}])", R"("tape":null)",
        R"("tape":{"events":"-1"})", R"("tape":{"events":"18446744073709551616"})",
        R"("tape":{"events":"many"})", R"("tape":{"events":1e30})"}) {
    expect_error(with(field), base::ErrorCode::kDamaged, "is not a well-formed report: ");
  }
}

TEST_F(ReportJson, NeverQuotesLongInputInItsErrors) {
  const std::string digits = repeated("9", 100000);
  expect_error(with(R"("tape":{"events":")" + digits + "\"}"), base::ErrorCode::kDamaged, "...");
}

TEST_F(ReportJson, NestedTooDeeplyIsDamaged) {
  expect_error(repeated("[", 1000000), base::ErrorCode::kDamaged, "nested too deeply");
  expect_error(repeated("{\"a\":", 1000000), base::ErrorCode::kDamaged, "nested too deeply");
}

TEST_F(ReportJson, WithTooManyValuesIsRefusedBeforeItCostsMemory) {
  expect_error(with(R"("x":[0)" + repeated(",0", 9 << 20) + "]"), base::ErrorCode::kForeign,
               "too many values");
}

TEST_F(ReportJson, WithTooManyRunsIsRefused) {
  expect_error(with(R"("runs":[{})" + repeated(",{}", 1000) + "]"), base::ErrorCode::kForeign,
               "more than 1000 runs");
}

TEST_F(ReportJson, WithTooManyCountersIsRefused) {
  expect_error(with(R"("runs":[{"counters":[{})" + repeated(",{}", 1000) + "]}]"),
               base::ErrorCode::kForeign, "more than 1000 counters");
}

TEST_F(ReportJson, WithTooManyLatenciesIsRefused) {
  expect_error(with(R"("runs":[{"latency":[{})" + repeated(",{}", 1000) + "]}]"),
               base::ErrorCode::kForeign, "more than 1000 latencies");
}

TEST_F(ReportJson, SurvivesAnyChangedByte) {
  const std::string json = tests::sample_report_json();
  for (size_t i = 0; i < json.size(); ++i) {
    std::string changed = json;
    changed[i] = static_cast<char>(changed[i] ^ 0x11);
    const auto report = parse_report("x.json", changed);
    EXPECT_TRUE(!report.ok() || to_json(report->root()).ok());
  }
}

TEST_F(ReportJson, NamesAFileThatIsNotThere) {
  const auto report = read_report("no/such.json");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace heaptape::schema
