#include "cli/wrong_file.h"

#include <gtest/gtest.h>

#include "schema/tape/manifest.h"
#include "tests/support/reports.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::cli {
namespace {

class WrongFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    tests::write_bytes(dir_.file("x"), text);
    return dir_.file("x");
  }
  std::string as_tape(const std::string& path) const {
    return not_a_tape(base::Error::foreign("the first error"), path).message;
  }
  std::string as_report(const std::string& path) const {
    return not_a_report(base::Error::foreign("the first error"), path).message;
  }

  tests::TempDir dir_;
};

TEST_F(WrongFile, IsAReportWhereATapeWasWanted) {
  EXPECT_NE(as_tape(write(tests::sample_report_json())).find("is a report"), std::string::npos);
}

TEST_F(WrongFile, IsATapeWhereAReportWasWanted) {
  tests::write_tape(dir_.file("x"), {tests::malloc_event(1, 0x1000)});
  EXPECT_NE(as_report(dir_.file("x")).find("heaptape replay"), std::string::npos);
}

TEST_F(WrongFile, IsAManifest) {
  schema::Manifest manifest;
  manifest.command = {"./server"};
  const std::string path = write(*schema::to_json(manifest));
  EXPECT_NE(as_tape(path).find("is the manifest"), std::string::npos) << as_tape(path);
  EXPECT_NE(as_report(path).find("is the manifest"), std::string::npos) << as_report(path);
  manifest.command.emplace_back(200'000, 'x');  // the rest is far from the beginning
  EXPECT_TRUE(is_manifest(write(*schema::to_json(manifest))));
  EXPECT_FALSE(is_manifest(write(tests::sample_report_json())));
  EXPECT_FALSE(is_manifest(write("\"version\":")));
}

TEST_F(WrongFile, IsAFolderWithATape) {
  tests::write_bytes(dir_.file("b.tape"), "");
  tests::write_bytes(dir_.file("a.tape"), "");
  EXPECT_NE(as_tape(dir_.path().string()).find("such as '" + dir_.file("a.tape")),
            std::string::npos);
}

TEST_F(WrongFile, OfNoKnownKindKeepsItsError) {
  for (const char* text : {"", "garbage", "{}", "{\"version\": 1, \"tape\": {}}"}) {
    EXPECT_EQ(as_tape(write(text)), "the first error") << text;
    EXPECT_EQ(as_report(write(text)), "the first error") << text;
  }
  EXPECT_EQ(as_tape("no/such/file"), "the first error");
}

}  // namespace
}  // namespace heaptape::cli
