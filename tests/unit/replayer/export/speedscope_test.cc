
#include <capnp/compat/json.h>
#include <capnp/message.h>
#include <gtest/gtest.h>

#include <memory>

#include "replayer/export/stack_formats.h"
#include "tests/support/exports.h"

namespace heaptape::replayer {
namespace {

using capnp::JsonValue;

class Speedscope : public testing::Test {
 protected:
  void of(StackValue shown, const tests::SampleStacks& sample = tests::SampleStacks()) {
    text_ = speedscope_json(sample.shown(), shown, "a\".tape");
    root_ = message_->initRoot<JsonValue>();
    capnp::JsonCodec().decodeRaw(kj::StringPtr(text_.c_str(), text_.size()), root_);
  }
  static JsonValue::Reader field(JsonValue::Reader object, const char* name) {
    for (const auto entry : object.getObject()) {
      if (entry.getName() == name) return entry.getValue();
    }
    ADD_FAILURE() << "no field " << name;
    return {};
  }
  JsonValue::Reader profile(unsigned number) {
    return field(root_.asReader(), "profiles").getArray()[number];
  }
  JsonValue::Reader frame(unsigned number) {
    return field(field(root_.asReader(), "shared"), "frames").getArray()[number];
  }
  std::string frame(unsigned number, const char* name) {
    return field(frame(number), name).getString().cStr();
  }

  std::string text_;
  std::unique_ptr<capnp::MallocMessageBuilder> message_ =
      std::make_unique<capnp::MallocMessageBuilder>();
  JsonValue::Builder root_ = nullptr;
};

TEST_F(Speedscope, IsJsonOfItsSchema) {
  of(StackValue::kPeak);
  EXPECT_STREQ(field(root_.asReader(), "$schema").getString().cStr(),
               "https://www.speedscope.app/file-format-schema.json");
  EXPECT_STREQ(field(root_.asReader(), "name").getString().cStr(), "a\".tape");
  EXPECT_EQ(field(root_.asReader(), "profiles").getArray().size(), 6u);
}

TEST_F(Speedscope, HasWeightsThatAddUp) {
  of(StackValue::kPeak);
  for (unsigned i = 0; i < 5; ++i) {
    const auto weights = field(profile(i), "weights").getArray();
    double sum = 0;
    for (const auto weight : weights) sum += weight.getNumber();
    EXPECT_EQ(sum, field(profile(i), "endValue").getNumber()) << i;
    EXPECT_EQ(weights.size(), field(profile(i), "samples").getArray().size()) << i;
  }
  EXPECT_EQ(field(profile(0), "endValue").getNumber(), 407);
}

TEST_F(Speedscope, HasTheOutermostFrameFirst) {
  of(StackValue::kPeak);
  const auto sample = field(profile(0), "samples").getArray()[0].getArray();
  ASSERT_EQ(sample.size(), 3u);
  EXPECT_EQ(frame(static_cast<unsigned>(sample[0].getNumber()), "name"), "main");
  EXPECT_EQ(frame(static_cast<unsigned>(sample[2].getNumber()), "name"), "lex");
  EXPECT_EQ(frame(static_cast<unsigned>(sample[2].getNumber()), "file"), "/src/lex.h");
  EXPECT_EQ(field(frame(static_cast<unsigned>(sample[2].getNumber())), "line").getNumber(), 3);
}

TEST_F(Speedscope, HasNoLineThatIsNotKnown) {
  const Symbols symbols({{}, {"/opt/app", 1, {{"f", "a.cc", 0}}}}, {0, 1, 1, 1, 1});
  of(StackValue::kPeak, tests::SampleStacks({}, symbols));
  EXPECT_EQ(text_.find("\"line\""), std::string::npos);
}

TEST_F(Speedscope, ShowsFirstWhatIsAskedFor) {
  of(StackValue::kTemporaries);
  EXPECT_EQ(field(root_.asReader(), "activeProfileIndex").getNumber(), 4);
}

TEST_F(Speedscope, NamesFramesOfUnknownStacks) {
  of(StackValue::kTemporaries);
  const auto sample = field(profile(4), "samples").getArray()[0].getArray();
  EXPECT_EQ(frame(static_cast<unsigned>(sample[0].getNumber()), "name"), "(no stack)");
}

TEST_F(Speedscope, SurvivesNamesOfAnyKind) {
  const Symbols symbols({{}, {"/opt/app", 1, {{"a\"\\\n\xff", "b\"\xff", 3}}}}, {0, 1, 1, 1, 1});
  of(StackValue::kPeak, tests::SampleStacks({}, symbols));
  EXPECT_EQ(frame(0, "file"), "b\"\uFFFD");
}

}  // namespace
}  // namespace heaptape::replayer
