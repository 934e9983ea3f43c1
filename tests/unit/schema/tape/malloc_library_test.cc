#include "schema/tape/malloc_library.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "tests/support/modules.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

// Where Debian's packages put it, beside libc; empty if it is not installed.
std::string installed(const std::string& name) {
  const std::string path =
      std::filesystem::path(tests::loaded_module("libc.so")).replace_filename(name);
  return std::filesystem::exists(path) ? path : "";
}

class MallocLibraryFile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    tests::write_bytes(dir_.file(name), bytes);
    return dir_.file(name);
  }
  MallocLibrary under_an_odd_name(const std::string& path) {
    return identify_malloc_library(write("odd", tests::read_bytes(path)));
  }
  tests::TempDir dir_;
};

struct Packaged {
  const char* name;
  const char* family;
};

class PackagedLibrary : public testing::TestWithParam<Packaged> {};

TEST_P(PackagedLibrary, IsKnownUnderAnyName) {
  const std::string path = installed(GetParam().name);
  if (path.empty()) GTEST_SKIP() << GetParam().name << " is not installed";
  const tests::TempDir dir;
  tests::write_bytes(dir.file("odd.so"), tests::read_bytes(path));
  EXPECT_EQ(identify_malloc_library(dir.file("odd.so")).family, GetParam().family);
}

INSTANTIATE_TEST_SUITE_P(OfDebian, PackagedLibrary,
                         testing::Values(Packaged{"libjemalloc.so.2", "jemalloc"},
                                         Packaged{"libmimalloc.so.2", "mimalloc"},
                                         Packaged{"libmimalloc.so.3", "mimalloc"},
                                         Packaged{"libtcmalloc_minimal.so.4", "tcmalloc"},
                                         Packaged{"libtbbmalloc_proxy.so.2", "tbbmalloc"}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST_F(MallocLibraryFile, OfTwoFamiliesIsOfNone) {
  EXPECT_EQ(identify_malloc_library(tests::target_path("two_families.so")).family, "");
}

TEST_F(MallocLibraryFile, OfGlibcSaysItsVersion) {
  const MallocLibrary library = under_an_odd_name(tests::loaded_module("libc.so"));
  EXPECT_EQ(library.family, "glibc");
  EXPECT_EQ(library.version, gnu_get_libc_version());
}

TEST_F(MallocLibraryFile, OfJemallocSaysItsVersion) {
  const std::string path = installed("libjemalloc.so.2");
  if (path.empty()) GTEST_SKIP() << "libjemalloc.so.2 is not installed";
  EXPECT_TRUE(under_an_odd_name(path).version.starts_with("5."));
}

TEST_F(MallocLibraryFile, OfAnotherKindIsNoAllocator) {
  EXPECT_EQ(identify_malloc_library("/proc/self/exe").family, "");
  EXPECT_EQ(identify_malloc_library(write("libjemalloc.so.2", "#!/bin/sh\n")).family, "");
  EXPECT_EQ(identify_malloc_library(write("empty", "")).family, "");
  EXPECT_EQ(identify_malloc_library(dir_.file("missing")), MallocLibrary());
  EXPECT_EQ(identify_malloc_library("/"), MallocLibrary());
}

TEST_F(MallocLibraryFile, ThatIsAPipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(dir_.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(identify_malloc_library(dir_.file("pipe")), MallocLibrary());
}

TEST_F(MallocLibraryFile, IsReadWhereverItWasCut) {
  const std::string bytes = tests::read_bytes(tests::loaded_module("libc.so"));
  for (size_t end = 0; end < bytes.size(); end += bytes.size() / 40) {
    const auto library = identify_malloc_library(write("cut", bytes.substr(0, end)));
    EXPECT_TRUE(library.family.empty() || library.family == "glibc") << end;
  }
}

// The headers and the tables that they lead to; the sanitizers also run this.
TEST_F(MallocLibraryFile, IsReadWhateverItsHeadersSay) {
  const std::string bytes = tests::read_bytes(tests::loaded_module("libc.so"));
  std::mt19937 random(33);
  for (int round = 0; round < 100; ++round) {
    std::string damaged = bytes;
    for (int i = 0; i < 8; ++i) damaged[random() % 64] = static_cast<char>(random());
    for (int i = 0; i < 64; ++i) {  // the section headers end the file
      damaged[damaged.size() - 1 - random() % 4096] = static_cast<char>(random());
    }
    damaged.replace(0, 20, bytes, 0, 20);
    identify_malloc_library(write("damaged", damaged));
  }
}

TEST_F(MallocLibraryFile, ThatIsThereIsBelievedBeforeItsName) {
  EXPECT_EQ(
      malloc_family(write("libjemalloc.so.2", tests::read_bytes(tests::loaded_module("libc.so")))),
      "glibc");
  EXPECT_EQ(malloc_family(write("libmimalloc.so.2", "no library")), "");
}

TEST(MallocFamily, IsThatOfTheNameWhereThereIsNoFile) {
  EXPECT_EQ(malloc_family("/another/machine/libjemalloc.so.1"), "jemalloc");
  EXPECT_EQ(malloc_family("/another/machine/libtcmalloc_minimal.so.4"), "tcmalloc");
  EXPECT_EQ(malloc_family("/another/machine/libc.so.6"), "glibc");
  EXPECT_EQ(malloc_family("/another/machine/libc-2.31.so"), "glibc");
  EXPECT_EQ(malloc_family("/another/machine/ld-musl-x86_64.so.1"), "musl");
  EXPECT_EQ(malloc_family("/another/machine/libmine.so"), "");
  EXPECT_EQ(malloc_family(""), "");
}

}  // namespace
}  // namespace heaptape::schema
