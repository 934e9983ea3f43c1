#include "allocators/catalog/catalog.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/golden.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::allocators {
namespace {

BackendSpec parsed(const std::string& text) {
  const auto spec = parse_spec(text);
  EXPECT_TRUE(spec.ok()) << text;
  return spec.ok() ? *spec : BackendSpec();
}

// Each of `parts` is in the message that refuses `text`.
void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  const auto spec = parse_spec(text);
  ASSERT_FALSE(spec.ok()) << text;
  EXPECT_EQ(spec.error().code, base::ErrorCode::kUsage);
  for (const std::string& part : parts) {
    EXPECT_NE(spec.error().message.find(part), std::string::npos) << spec.error().message;
  }
}

base::Result<std::unique_ptr<Backend>> made(const std::string& text) {
  static const schema::TapeHeader header = tests::sample_header();
  return make_backend(parsed(text), {&header, Touch::kPage});
}

TEST(Spec, OfABackendAloneIsLabelledByIt) {
  EXPECT_EQ(parsed("glibc").backend, "glibc");
  EXPECT_EQ(parsed("glibc").label, "glibc");
  EXPECT_TRUE(parsed("glibc").environment.empty());
}

TEST(Spec, MayBeginWithALabel) {
  EXPECT_EQ(parsed("mine=jemalloc").label, "mine");
  EXPECT_EQ(parsed("mine=jemalloc").backend, "jemalloc");
  EXPECT_EQ(parsed("no-decay_2=lib:./a=b.so").label, "no-decay_2");
}

TEST(Spec, TakesNoPartOfAPathForALabel) {
  EXPECT_EQ(parsed("lib:/opt/x=y/libm.so").backend, "lib:/opt/x=y/libm.so");
  EXPECT_EQ(parsed("lib:/opt/x=y/libm.so").label, "lib:/opt/x=y/libm.so");
}

TEST(Spec, TakesNoOptionOfAPluginForALabel) {
  EXPECT_EQ(parsed("plugin:x.so:a=1").label, "plugin:x.so:a=1");
  EXPECT_EQ(parsed("mine=plugin:x.so:a=1").label, "mine");
  EXPECT_EQ(parsed("mine=plugin:x.so:a=1").backend, "plugin:x.so:a=1");
}

TEST(Spec, CarriesAnEnvironment) {
  const BackendSpec spec = parsed("a=jemalloc MALLOC_CONF=narenas:1,decay=0 EMPTY=");
  EXPECT_EQ(spec.environment,
            (std::vector<std::string>{"MALLOC_CONF=narenas:1,decay=0", "EMPTY="}));
}

TEST(Spec, IsSeparatedByAnyBlanks) {
  const BackendSpec spec = parsed("  \t a=glibc \n X=1\t Y=2 ");
  EXPECT_EQ(spec.label, "a");
  EXPECT_EQ(spec.environment, (std::vector<std::string>{"X=1", "Y=2"}));
}

TEST(Spec, OfAnUnknownAllocatorListsThoseKnown) {
  expect_refused("dlmalloc", {"unknown allocator 'dlmalloc'", "recorded", "noop", "glibc",
                              "jemalloc", "mimalloc", "tcmalloc", "lib:PATH", "model:runs"});
}

TEST(Spec, MustNameAnAllocator) {
  for (const char* text : {"", "  \t "}) expect_refused(text, {"an allocator is missing", "noop"});
  for (const char* text : {"lib:", "=glibc", "a=", "model:", "plugin:", "GLIBC"}) {
    expect_refused(text, {"known are"});
  }
}

TEST(Spec, RefusesWordsThatAreNoVariable) {
  expect_refused("glibc verbose", {"'verbose'", "NAME=VALUE"});
  expect_refused("glibc =1", {"'=1'", "NAME=VALUE"});
}

TEST(Spec, RefusesAnEnvironmentWhereNoCodeRuns) {
  expect_refused("recorded X=1", {"'recorded'", "runs no real code"});
  expect_refused("noop X=1", {"'noop'"});
  expect_refused("model:runs X=1", {"'model:runs' runs no real code", "written model:runs:X=1"});
  expect_refused("plugin:x.so X=1", {"'plugin:x.so' takes no environment", "plugin:PATH:X=1"});
}

TEST(Catalog, CanMakeEverythingThatItLists) {
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_FALSE(entry.description.empty());
    if (entry.name.ends_with(":PATH")) continue;
    EXPECT_TRUE(made(entry.name).ok()) << entry.name;
  }
}

// The pages that name the model.
std::string pages_of(const std::string& model) {
  std::string text;
  const std::string folder = tests::golden_path("../../docs/models");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string page = tests::read_bytes(entry.path());
    if (page.find(model) != std::string::npos) text += page;
  }
  return text;
}

TEST(Catalog, HasPagesWithTheOptionsAndCountersOfEachModel) {
  for (const CatalogEntry& entry : catalog()) {
    if (!entry.name.starts_with("model:")) continue;
    const std::string pages = pages_of(entry.name);
    for (const base::Parameter& parameter : entry.parameters) {
      EXPECT_NE(pages.find("`" + parameter.name + "`"), std::string::npos)
          << entry.name << " " << parameter.name;
    }
    for (const Counter& counter : (*made(entry.name))->counters()) {
      if (counter.name.starts_with("base.")) continue;
      EXPECT_NE(pages.find("`" + counter.name + "`"), std::string::npos)
          << entry.name << " " << counter.name;
    }
  }
}

TEST(Catalog, TellsRealCodeFromTheRest) {
  for (const char* text : {"glibc", "jemalloc", "lib:./x.so"}) {
    EXPECT_TRUE(runs_real_code(parsed(text))) << text;
  }
  for (const char* text : {"noop", "recorded", "model:runs", "plugin:./x.so:a=1"}) {
    EXPECT_FALSE(runs_real_code(parsed(text))) << text;
  }
}

TEST(Catalog, FindsNoLibraryThatIsNotThere) {
  const auto backend = made("lib:/none/libmine.so");
  ASSERT_FALSE(backend.ok());
  EXPECT_EQ(backend.error().code, base::ErrorCode::kNotFound);
  EXPECT_NE(backend.error().message.find("no file '/none/libmine.so'"), std::string::npos);
}

TEST(Catalog, TakesNoFolderForALibrary) {
  const tests::TempDir dir;
  EXPECT_FALSE(made("lib:" + dir.path().string()).ok());
}

}  // namespace
}  // namespace heaptape::allocators
