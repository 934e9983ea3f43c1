#include "schema/tape/inner_heaps.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <vector>

#include "tests/support/modules.h"
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

TEST(PythonsEnvironment, SaysWhetherPythonCallsMalloc) {
  EXPECT_TRUE(has_python_call_malloc(environment({"A=1", "PYTHONMALLOC=malloc", "B=2"})));
  EXPECT_TRUE(has_python_call_malloc(environment({"PYTHONMALLOC=malloc_debug"})));
  EXPECT_TRUE(has_python_call_malloc("PYTHONMALLOC=malloc"));  // cut short
  EXPECT_FALSE(has_python_call_malloc(environment({"PYTHONMALLOC=pymalloc"})));
  EXPECT_FALSE(has_python_call_malloc(environment({"PYTHONMALLOC=debug"})));
  EXPECT_FALSE(has_python_call_malloc(environment({"MYPYTHONMALLOC=malloc"})));
  EXPECT_FALSE(has_python_call_malloc(environment({"PYTHONMALLOC=", "PYTHONMALLOC=malloc"})));
  EXPECT_FALSE(has_python_call_malloc(""));
}

}  // namespace
}  // namespace heaptape::schema
