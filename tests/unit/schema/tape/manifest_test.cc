#include "schema/tape/manifest.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

Manifest sample() {
  Manifest manifest;
  manifest.command = {"sh", "-c", "./server"};
  manifest.processes.push_back({.tape = "run.tape",
                                .pid = 7,
                                .parent_pid = 1,
                                .executable = "/bin/sh",
                                .command_line = {"sh"},
                                .events = 12,
                                .bytes = UINT64_MAX,
                                .lost_events = 3,
                                .ended = "exited",
                                .title = "server: \xc2\x9b of 3"});
  manifest.unrecorded.push_back({"/opt/static", "statically linked", 2});
  manifest.unrecorded.push_back({"/opt/ruff", "has jemalloc inside", 1, {"jemalloc"}});
  return manifest;
}

TEST(ManifestJson, ComesBackAsItWasWritten) {
  const auto json = to_json(sample());
  const auto manifest = parse_manifest("m", *json);
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(*to_json(*manifest), *json);
  EXPECT_EQ(manifest->processes[0].bytes, UINT64_MAX);
  EXPECT_EQ(manifest->unrecorded[0].program, "/opt/static");
  EXPECT_TRUE(manifest->unrecorded[0].families.empty());
  EXPECT_EQ(manifest->unrecorded[1].families, std::vector<std::string>{"jemalloc"});
  EXPECT_EQ(manifest->processes[0].title, sample().processes[0].title);
  EXPECT_NE(json->find("server: \\u009b of 3"), std::string::npos) << *json;  // no control as it is
}

TEST(ManifestJson, HasNumbersForNumbers) {
  EXPECT_TRUE(to_json(sample())->starts_with("{ \"version\": 1,")) << *to_json(sample());
  EXPECT_NE(to_json(sample())->find("\"events\": 12,"), std::string::npos) << *to_json(sample());
}

TEST(ManifestJson, OfOldHasStringsForNumbers) {
  const auto manifest = parse_manifest("m", R"({"processes": [{"events": "12", "pid": 7}]})");
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->processes[0].events, 12u);
}

TEST(ManifestJson, ThatIsNoneIsDamaged) {
  for (const char* text : {"", "[]", "{\"processes\": 3}", "{\"processes\": [{\"events\": -1}]}"}) {
    const auto manifest = parse_manifest("m", text);
    ASSERT_FALSE(manifest.ok()) << text;
    EXPECT_EQ(manifest.error().code, base::ErrorCode::kDamaged);
    EXPECT_TRUE(manifest.error().message.starts_with("'m' is not a well-formed manifest: "));
  }
}

TEST(ManifestJson, ThatIsNotThereIsNamed) {
  const tests::TempDir dir;
  EXPECT_EQ(read_manifest(dir.file("none")).error().code, base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace heaptape::schema
