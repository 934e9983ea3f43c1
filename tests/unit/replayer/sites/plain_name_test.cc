
#include <gtest/gtest.h>

#include "replayer/sites/short_name.h"

namespace heaptape::replayer {
namespace {

TEST(PlainName, IsTheTextOfAFunctionOfC) {
  EXPECT_EQ(plain_name("parse_line"), "parse_line");
}

TEST(PlainName, LeavesParametersOut) {
  EXPECT_EQ(plain_name("app::Parser::line(char const*, std::vector<int (*)(int)>) const"),
            "app::Parser::line");
}

TEST(PlainName, LeavesOutWhatIsReturned) {
  EXPECT_EQ(plain_name("std::map<int, char> app::make<std::pair<int, int> >(int)"),
            "app::make<std::pair<int, int> >");
}

TEST(PlainName, KnowsUnnamedNamespaces) {
  EXPECT_EQ(plain_name("(anonymous namespace)::grow(int)"), "(anonymous namespace)::grow");
  EXPECT_EQ(plain_name("void app::(anonymous namespace)::grow<int>(int)"),
            "app::(anonymous namespace)::grow<int>");
}

TEST(PlainName, KnowsOperators) {
  EXPECT_EQ(plain_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(plain_name("operator new[](unsigned long)"), "operator new[]");
  EXPECT_EQ(plain_name("std::function<void (int)>::operator()(int) const"),
            "std::function<void (int)>::operator()");
  EXPECT_EQ(plain_name("bool operator< <int>(app::A<int>, int)"), "operator< <int>");
  EXPECT_EQ(plain_name("app::operators(int)"), "app::operators");
}

TEST(PlainName, KnowsLambdas) {
  EXPECT_EQ(plain_name("main::{lambda(int)#1}::operator()(int) const"),
            "main::{lambda(int)#1}::operator()");
}

TEST(PlainName, KnowsPathsOfRust) {
  EXPECT_EQ(plain_name("<alloc::vec::Vec<T> as core::clone::Clone>::clone"),
            "<alloc::vec::Vec<T> as core::clone::Clone>::clone");
}

TEST(PlainName, SurvivesTextThatIsNoFunction) {
  for (const char* text : {"", "(", ")", "<", ">>>", "operator", "operator(", "a<(", "->", " "}) {
    EXPECT_LE(plain_name(text).size(), std::string_view(text).size()) << text;
  }
}

}  // namespace
}  // namespace heaptape::replayer
