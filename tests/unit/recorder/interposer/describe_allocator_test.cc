#include "recorder/interposer/describe_allocator.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/programs.h"

// As a program may have them, beside the malloc of libc.
extern "C" int mi_version() {
  return 209;
}
extern "C" const char* tc_version(int* /*major*/, int* /*minor*/, const char** /*patch*/) {
  return "gperftools 2.10";
}

namespace heaptape::recorder {
namespace {

const void* address_of(void* (*function)(size_t)) {
  return reinterpret_cast<const void*>(function);
}

TEST(DescribeAllocator, NamesLibcAndItsVersion) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer serves malloc";
  const AllocatorFacts facts = describe_allocator(address_of(&std::malloc));
  EXPECT_STREQ(facts.family, "glibc");
  EXPECT_STREQ(facts.version, gnu_get_libc_version());
  EXPECT_EQ(facts.libc, std::string("glibc ") + gnu_get_libc_version());
  EXPECT_NE(std::string(facts.path).find("libc.so.6"), std::string::npos) << facts.path;
}

void* mallocs_of_another(size_t /*bytes*/) {
  return nullptr;
}

TEST(DescribeAllocator, AsksTheLibraryThatServesMalloc) {
  const AllocatorFacts facts = describe_allocator(address_of(&mallocs_of_another));
  EXPECT_STREQ(facts.family, "mimalloc");
  EXPECT_STREQ(facts.version, "2.0.9");
}

TEST(DescribeAllocator, SaysNothingOfAnUnknownPlace) {
  const AllocatorFacts facts = describe_allocator(nullptr);
  EXPECT_STREQ(facts.path, "");
  EXPECT_STREQ(facts.family, "");
  EXPECT_STREQ(facts.version, "");
}

}  // namespace
}  // namespace heaptape::recorder
