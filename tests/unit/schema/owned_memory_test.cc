// The names of those who have memory beside malloc.
#include "schema/owned_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptape::schema {
namespace {

TEST(OwnerOfFile, IsItsNameWithoutDirectoryAndVersion) {
  EXPECT_EQ(owner_of_file("/usr/lib/libarrow.so.1200.0.0"), "libarrow");
  EXPECT_EQ(owner_of_file("/usr/bin/python3.11"), "python3.11");
  EXPECT_EQ(owner_of_file("/a/_json.cpython-311-x86_64-linux-gnu.so"), "_json");
  EXPECT_EQ(owner_of_file("/a/_rust.abi3.so"), "_rust");
  EXPECT_EQ(owner_of_file("/lib64/ld-linux-x86-64.so.2"), "ld-linux-x86-64");
  EXPECT_EQ(owner_of_file("/a/libstdc++.so.6 (deleted)"), "libstdc++");
  EXPECT_EQ(owner_of_file("/a/.so"), ".so");
  EXPECT_EQ(owner_of_file("server"), "server");
  EXPECT_EQ(owner_of_file("/"), "");
  EXPECT_EQ(owner_of_file("/bin/malloc"), "malloc_");
  EXPECT_EQ(owner_of_file("/bin/data.so.1"), "data_");
}

TEST(OwnerOfFile, IsAlwaysANameOrNone) {
  EXPECT_EQ(owner_of_file("/a/b c\n\"\xff"), "b_c___");
  EXPECT_EQ(owner_of_file("/" + std::string(300, 'x')), std::string(63, 'x'));
}

TEST(OwnerOfKernelName, IsWhatIsBetweenTheBrackets) {
  EXPECT_EQ(owner_of_kernel_name("[anon:v8]"), "v8");
  EXPECT_EQ(owner_of_kernel_name("[anon: native heap]"), "_native_heap");
  EXPECT_EQ(owner_of_kernel_name("[heap]"), "");
  EXPECT_EQ(owner_of_kernel_name("[anon:heap]"), "heap_");
  EXPECT_EQ(owner_of_kernel_name(""), "");
  EXPECT_EQ(owner_of_kernel_name("["), "");
  EXPECT_EQ(owner_of_kernel_name("[anon:]"), "");
}

}  // namespace
}  // namespace heaptape::schema
