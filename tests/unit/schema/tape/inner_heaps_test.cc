#include "schema/tape/inner_heaps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "tests/support/modules.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using Heaps = std::vector<std::string>;

TEST(InnerHeaps, AreNoneInALibraryThatServesTheProcess) {
  for (const char* const name : {"libjemalloc.so.2", "libtcmalloc_minimal.so.4"}) {
    const std::string path =
        std::filesystem::path(tests::loaded_module("libc.so")).replace_filename(name);
    if (!std::filesystem::exists(path)) GTEST_SKIP() << name << " is not installed";
    EXPECT_EQ(inner_heaps(path), Heaps()) << name;
  }
}

TEST(InnerHeaps, AreNoneInFilesOfAnyKind) {
  const tests::TempDir dir;
  EXPECT_EQ(inner_heaps(tests::loaded_module("libc.so")), Heaps());
  EXPECT_EQ(inner_heaps("/proc/self/exe"), Heaps());  // though it has those texts to look for
  tests::write_bytes(dir.file("text"), std::string("<jemal") + "loc>: %s narenas");
  EXPECT_EQ(inner_heaps(dir.file("text")), Heaps());
  EXPECT_EQ(inner_heaps(dir.file("none")), Heaps());
  EXPECT_EQ(inner_heaps(dir.path()), Heaps());
  ASSERT_EQ(mkfifo(dir.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(inner_heaps(dir.file("pipe")), Heaps());
}

TEST(InnerHeaps, TakeBothTextsToBeKnown) {
  EXPECT_EQ(inner_heaps(tests::target_path("inner_jemalloc")), Heaps{"jemalloc"});
  EXPECT_EQ(inner_heaps(tests::target_path("inner_half")), Heaps());
}

TEST(InnerHeaps, AreThoseOfPythonAndOfTheCompiler) {
  EXPECT_EQ(inner_heaps("/usr/bin/python3"), Heaps{"pymalloc"});
  const std::string compiler = tests::compiler_proper();
  if (!compiler.starts_with('/')) GTEST_SKIP() << "there is no g++";
  EXPECT_EQ(inner_heaps(compiler), Heaps{"gcc"});
}

std::string environment(const std::vector<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  return text;
}

TEST(InnerHeaps, AreSwitchedOffByTheEnvironment) {
  const auto pymalloc = [](const std::string& text) {
    return is_switched_off("pymalloc", "/a", text);
  };
  EXPECT_TRUE(pymalloc(environment({"A=1", "PYTHONMALLOC=malloc", "B=2"})));
  EXPECT_TRUE(pymalloc(environment({"PYTHONMALLOC=malloc_debug"})));
  EXPECT_TRUE(pymalloc("PYTHONMALLOC=malloc"));  // cut short
  EXPECT_FALSE(pymalloc(environment({"PYTHONMALLOC=pymalloc"})));
  EXPECT_FALSE(pymalloc(environment({"PYTHONMALLOC=debug"})));
  EXPECT_FALSE(pymalloc(environment({"MYPYTHONMALLOC=malloc", "PYTHONMALLOC"})));
  EXPECT_FALSE(pymalloc(environment({"PYTHONMALLOC=", "PYTHONMALLOC=malloc"})));
  EXPECT_FALSE(pymalloc(""));
  const std::string settings =
      environment({"USE_ZEND_ALLOC=0", "ARROW_DEFAULT_MEMORY_POOL=system"});
  EXPECT_TRUE(is_switched_off("php", "/usr/bin/php8.2", settings));
  EXPECT_TRUE(is_switched_off("mimalloc", "/lib/libarrow.so.2200", settings));
  EXPECT_FALSE(is_switched_off("mimalloc", "/arrow/polars.so", settings));
  EXPECT_FALSE(is_switched_off("go", "/usr/bin/php8.2", settings));
  EXPECT_TRUE(is_switched_off("pymalloc", "/a", std::nullopt));
  EXPECT_FALSE(is_switched_off("go", "/a", std::nullopt));
  EXPECT_FALSE(is_switched_off("mimalloc", "/arrow/polars.so", std::nullopt));
}

// A browser serves malloc itself, and has a V8 beside it.
TEST(InnerHeaps, AreThoseOfRuntimesInALibraryThatExportsMalloc) {
  EXPECT_EQ(inner_heaps(tests::target_path("own_malloc.so")), Heaps{"v8"});
}

}  // namespace
}  // namespace heaptape::schema
