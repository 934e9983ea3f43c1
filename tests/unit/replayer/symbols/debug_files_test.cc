#include "replayer/symbols/debug_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "base/number_text.h"
#include "tests/support/symbol_targets.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

namespace fs = std::filesystem;
using tests::symbol_target;

std::string build_id_at(const std::string& path) {
  return build_id_of(*open_regular_file(path));
}

// A program at lib/app, and directories of debug files. "right" is a debug file of its build,
// "wrong" one of another.
class DebugFilesTest : public testing::Test {
 protected:
  DebugFilesTest() { put("whole.so", "lib/app"); }
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  void put(const std::string& target, const std::string& name) const {
    fs::create_directories((dir_.path() / name).parent_path());
    fs::copy_file(symbol_target(target), path(name), fs::copy_options::overwrite_existing);
  }
  // The place of a debug file of lib/app in a directory like /usr/lib/debug.
  std::string in_place(const std::string& folder, const std::string& name) const {
    return folder + (dir_.path() / "lib" / name).string();
  }
  std::string by_build_id(const std::string& folder) const {
    return folder + "/.build-id/" + base::hex_text(build_id_.substr(0, 1)) + "/" +
           base::hex_text(build_id_.substr(1)) + ".debug";
  }
  // Where it is, from the test's directory; empty if it is not found.
  std::string name_of(const std::optional<DebugFile>& found) const {
    return found ? fs::path(found->path).lexically_relative(dir_.path()).string() : "";
  }
  std::string linked(const std::string& link, uint32_t checksum = 0) const {
    const std::string id = checksum == 0 ? build_id_ : "";
    return name_of(files_.find_by_link(path("lib/app"), link, checksum, id));
  }

  tests::TempDir dir_;
  const std::string build_id_ = build_id_at(symbol_target("whole.so"));
  const DebugFiles files_{{path("first"), path("second")}};
};

TEST_F(DebugFilesTest, OfALinkAreInItsPlacesInTheirOrder) {
  EXPECT_EQ(linked("app.debug"), "");
  // The last place first: each that is added comes before it.
  for (const std::string& place :
       {in_place("second", "app.debug"), in_place("first", "app.debug"),
        std::string("lib/.debug/app.debug"), std::string("lib/app.debug")}) {
    put("other.so", place);
    EXPECT_NE(linked("app.debug"), place);
    put("target.debug", place);
    EXPECT_EQ(linked("app.debug"), place);
  }
}

// As distributions lay them out. A program is no debug file of its own.
TEST_F(DebugFilesTest, OfALinkWithTheNameOfItsFileAreNotTheFile) {
  EXPECT_EQ(linked("app"), "");
  for (const std::string& place : {in_place("second", "app"), std::string("lib/.debug/app")}) {
    put("target.debug", place);
    EXPECT_EQ(linked("app"), place);
  }
}

TEST_F(DebugFilesTest, WithoutABuildIdHaveTheChecksumOfTheLink) {
  std::string bytes;
  for (size_t i = 0; i < 200'000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  const auto checksum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  tests::write_bytes(path("lib/app.debug"), bytes);
  EXPECT_EQ(linked("app.debug", checksum), "lib/app.debug");
  bytes[150'000] ^= 1;
  tests::write_bytes(path("lib/app.debug"), bytes);
  EXPECT_EQ(linked("app.debug", checksum), "");
}

TEST_F(DebugFilesTest, OfABuildAreInTheFirstDirectoryThatHasThem) {
  const auto found = [this] { return name_of(files_.find_by_build_id(build_id_)); };
  EXPECT_EQ(found(), "");
  put("target.debug", by_build_id("second"));
  put("other.so", by_build_id("first"));
  EXPECT_EQ(found(), by_build_id("second"));
  put("target.debug", by_build_id("first"));
  EXPECT_EQ(found(), by_build_id("first"));
}

TEST_F(DebugFilesTest, OfAShortBuildIdAreNotThere) {
  EXPECT_FALSE(files_.find_by_build_id(""));
  EXPECT_FALSE(files_.find_by_build_id("a"));
}

// The file that dwz made, named from the debug file or by its place in a directory.
TEST_F(DebugFilesTest, ThatAreSharedAreFoundByBuildFromTheFileOrBelowDwz) {
  const auto found = [this](const std::string& name) {
    return name_of(files_.find_shared(path("lib/app.debug"), name, build_id_));
  };
  const std::string name = "../../.dwz/x86_64/app";
  EXPECT_EQ(found(name), "");
  put("target.debug", "second/.dwz/x86_64/app");
  EXPECT_EQ(found(name), "second/.dwz/x86_64/app");
  EXPECT_EQ(found("../elsewhere/x86_64/app"), "");
  put("other.so", "first/.dwz/x86_64/app");
  EXPECT_EQ(found(name), "second/.dwz/x86_64/app");
  put("target.debug", "lib/shared/app");
  EXPECT_EQ(found("shared/app"), "lib/shared/app");
  EXPECT_EQ(found(path("lib/shared/app")), "lib/shared/app");
  put("target.debug", by_build_id("first"));
  EXPECT_EQ(found("shared/app"), by_build_id("first"));
}

TEST_F(DebugFilesTest, AreOpenedOnlyIfTheyAreRegularAndNotEmpty) {
  tests::write_bytes(path("empty"), "");
  EXPECT_FALSE(open_regular_file(path("empty")));
  EXPECT_FALSE(open_regular_file(path("lib")));
  EXPECT_FALSE(open_regular_file("/dev/null"));
  EXPECT_EQ(open_regular_file(path("none")).error().code, base::ErrorCode::kNotFound);
  EXPECT_TRUE(open_regular_file(path("lib/app")));
}

}  // namespace
}  // namespace heaptape::replayer
