#include "replayer/symbols/function_name.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

TEST(FunctionName, OfCIsAsItIs) {
  EXPECT_EQ(function_name("malloc"), "malloc");
}

TEST(FunctionName, IsWithoutAVersion) {
  EXPECT_EQ(function_name("malloc@@GLIBC_2.2.5"), "malloc");
}

TEST(FunctionName, OfCppHasParameters) {
  EXPECT_EQ(function_name("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

TEST(FunctionName, OfRustIsWithoutItsHash) {
  EXPECT_EQ(function_name("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
}

TEST(FunctionName, OfRustHasItsBrackets) {
  EXPECT_EQ(function_name("_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$"
                          "4into17h0123456789abcdefE"),
            "<T as core::convert::Into<U>>::into");
}

TEST(FunctionName, OfNoKnownSchemeIsAsItIs) {
  EXPECT_EQ(function_name("_RNvC5crate4main"), "_RNvC5crate4main");
  EXPECT_EQ(function_name("_Zbroken"), "_Zbroken");
}

}  // namespace
}  // namespace heaptape::replayer
