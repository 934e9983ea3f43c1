#include "tests/support/programs.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

namespace heaptape::tests {
namespace {

// The directory of this test program: tests/ of the build tree.
std::filesystem::path tests_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace

std::string not_glibc_2_36(const std::string& spec) {
  const std::string version = gnu_get_libc_version();
  if (!spec.starts_with("glibc") || version == "2.36") return "";
  return "these numbers are of glibc 2.36, not " + version;
}

const char* mimalloc_library() {
  static const std::string newest = [] {
    std::string found = "libmimalloc.so";
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/x86_64-linux-gnu")) {
      const std::string file = entry.path().filename();
      const bool is_soname = file.starts_with("libmimalloc.so.") && file.size() == 16;
      if (is_soname && file > found) found = file;
    }
    return found;
  }();
  return newest.c_str();
}

std::string mimalloc_3_0_1() {
  static const bool is_installed = [] {
    const std::string listed = run({"heaptape", "allocators"}).out;
    return std::regex_search(listed, std::regex(R"(\nmimalloc +3\.0\.1 )"));
  }();
  return is_installed ? "mimalloc 3.0.1 forgets which of its blocks are aligned" : "";
}

std::string mimalloc_3() {
  const bool is_3 = std::string(mimalloc_library()).ends_with(".so.3");
  return is_3 ? "mimalloc 3 places blocks differently from run to run" : "";
}

std::string newer_mallinfo() {
  const std::string version = gnu_get_libc_version();
  const bool is_old = version.size() == 4 && version < "2.42";
  return is_old ? "" : "mallinfo2 of glibc " + version + " does not count whole pages";
}

bool begins_commands(const std::string& line) {
  return line == "Commands:";
}

std::string heaptape_path() {
  return (tests_folder().parent_path() / "bin" / "heaptape").string();
}

std::string preload_path() {
  const std::filesystem::path build = tests_folder().parent_path();
  return (build / "lib" / "heaptape" / "libheaptape-interposer.so").string();
}

std::string target_path(const std::string& name) {
  return (tests_folder() / "targets" / name).string();
}

Ended run(CommandLine line) {
  if (line.words[0] == "heaptape") line.words[0] = heaptape_path();
  return run_command(line);
}

Ended run(std::vector<std::string> words) {
  return run(CommandLine{.words = std::move(words)});
}

void expect_refusal(const Ended& ended, const std::string& part) {
  EXPECT_EQ(ended.status, 2) << ended.describe();
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(ended.err.starts_with("heaptape: ")) << ended.err;
  EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find('\n'), ended.err.size() - 1) << "one sentence: " << ended.err;
}

}  // namespace heaptape::tests
