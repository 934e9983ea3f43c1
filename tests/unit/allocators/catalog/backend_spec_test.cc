#include "allocators/catalog/backend_spec.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "allocators/catalog/spec_advice.h"
#include "tests/support/programs.h"
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

std::string plugin_path() {
  return "plugin:" + tests::target_path("libsize_classes.so");
}

TEST(Spec, OfABackendAloneIsLabelledByIt) {
  EXPECT_EQ(parsed("glibc").text, "glibc");
  EXPECT_EQ(parsed("glibc").label, "glibc");
  EXPECT_TRUE(parsed("glibc").environment.empty());
}

TEST(Spec, MayBeginWithALabel) {
  EXPECT_EQ(parsed("mine=jemalloc").label, "mine");
  EXPECT_EQ(parsed("mine=jemalloc").text, "jemalloc");
  EXPECT_EQ(parsed("no-decay_2=model:runs").label, "no-decay_2");
}

TEST(Spec, TakesNoPartOfAPathForALabel) {
  const tests::TempDir dir;
  std::filesystem::copy_file(tests::target_path("libreplay_bare_malloc.so"), dir.file("x=y.so"));
  const std::string text = "lib:" + dir.file("x=y.so");
  EXPECT_EQ(parsed(text).text, text);
  EXPECT_EQ(parsed(text).label, text);
}

TEST(Spec, TakesNoOptionOfAPluginForALabel) {
  const std::string text = plugin_path() + ":min_block=64";
  EXPECT_EQ(parsed(text).label, text);
  EXPECT_EQ(parsed("mine=" + text).label, "mine");
  EXPECT_EQ(parsed("mine=" + text).text, text);
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
  expect_refused("dlmalloc", {"there is no allocator 'dlmalloc'", "recorded", "noop", "glibc",
                              "jemalloc", "mimalloc", "tcmalloc", "lib:PATH", "model:runs"});
}

TEST(Spec, OfAMistypedAllocatorSuggestsTheRightOne) {
  expect_refused("jemaloc", {"'jemaloc' (did you mean jemalloc?)"});
  expect_refused("ptmalloc", {"(did you mean model:ptmalloc"});
  expect_refused("model:ptmalloc:tcache_cont=2", {"(did you mean tcache_count?)"});
}

TEST(Spec, OfARealAllocatorWithOptionsSaysHowItIsSet) {
  expect_refused("glibc:arena_max=2",
                 {"-a 'glibc MALLOC_ARENA_MAX=2'", "-a model:ptmalloc:arena_max=2"});
  expect_refused("jemalloc:narenas=2", {"-a 'jemalloc MALLOC_CONF=", "-a model:slabs"});
  expect_refused("noop:x=1", {"'noop' takes no options"});
}

TEST(Spec, WithItsEnvironmentInFrontSaysWhereThatBelongs) {
  expect_refused("MALLOC_ARENA_MAX=2 glibc", {"-a 'glibc MALLOC_ARENA_MAX=2'"});
}

TEST(Spec, OfAFileSaysWhatALibraryOrATapeIs) {
  const tests::TempDir dir;
  tests::write_bytes(dir.file("run.tape"), "");
  expect_refused(dir.file("run.tape"), {"if it is the tape, give it once"});
  expect_refused(tests::target_path("libreplay_bare_malloc.so"), {"give it as lib:/"});
  expect_refused("libjemalloc.so.2", {"as lib:PATH, or jemalloc"});
  expect_refused("libmine.so", {"lib:PATH"});
}

TEST(JoinedSpec, PutsTogetherWhatTheShellTookApart) {
  EXPECT_EQ(joined_spec("glibc", "MALLOC_ARENA_MAX=2"), "glibc MALLOC_ARENA_MAX=2");
  EXPECT_EQ(joined_spec("model:ptmalloc", "arena_max=2"), "model:ptmalloc:arena_max=2");
  EXPECT_EQ(joined_spec("model:ptmalloc:cores=4", "arena_max=2"),
            "model:ptmalloc:cores=4,arena_max=2");
}

TEST(JoinedSpec, IsNothingWhereAnotherAllocatorFollows) {
  EXPECT_EQ(joined_spec("glibc", "jemaloc"), std::nullopt);
  EXPECT_EQ(joined_spec("glibc", "mine=jemaloc"), std::nullopt);
  EXPECT_EQ(joined_spec("model:ptmalloc", "mine=glbc"), std::nullopt);
}

TEST(Spec, MustNameAnAllocator) {
  expect_refused("lib:", {"the path is missing: write lib:PATH"});
  for (const char* text : {"", "  \t "}) expect_refused(text, {"an allocator is missing", "noop"});
  for (const char* text : {"=glibc", "a=", "model:", "plugin:", "GLIBC"}) {
    expect_refused(text, {"choose one of"});
  }
}

TEST(Spec, RefusesWordsThatAreNoVariable) {
  expect_refused("glibc verbose", {"'verbose'", "NAME=VALUE"});
  expect_refused("glibc =1", {"'=1'", "NAME=VALUE"});
}

TEST(Spec, RefusesAnEnvironmentWhereNoCodeRuns) {
  expect_refused("recorded X=1", {"'recorded' runs no real code", "omit 'X=1'"});
  expect_refused("noop X=1", {"'noop'"});
  expect_refused("model:runs X=1",
                 {"'model:runs' runs no real code", "as an option: model:runs:X=1"});
  expect_refused("plugin:x.so X=1", {"'plugin:x.so' takes no environment", "plugin:PATH:X=1"});
}

TEST(Spec, SaysOfWhichKindItIs) {
  EXPECT_EQ(parsed("recorded").kind, BackendKind::kRecorded);
  EXPECT_EQ(parsed("noop").kind, BackendKind::kNoop);
  EXPECT_EQ(parsed("a=model:runs").kind, BackendKind::kModel);
  EXPECT_EQ(parsed(plugin_path()).kind, BackendKind::kPlugin);
  for (const std::string& text : {std::string("glibc"), std::string("jemalloc X=1"),
                                  "lib:" + tests::target_path("libreplay_bare_malloc.so")}) {
    EXPECT_EQ(parsed(text).kind, BackendKind::kNative) << text;
  }
}

TEST(Spec, CarriesTheOptionsOfAModel) {
  EXPECT_EQ(parsed("model:ptmalloc:tcache_count=3").options["tcache_count"], 3u);
  EXPECT_EQ(parsed("model:ptmalloc").options["tcache_count"], 7u);
}

TEST(Spec, CarriesTheOptionsOfAPlugin) {
  EXPECT_EQ(parsed(plugin_path() + ":min_block=64").options["min_block"], 64u);
  EXPECT_EQ(parsed(plugin_path()).options["min_block"], 16u);
}

TEST(Spec, RefusesOptionsThatDoNotExist) {
  expect_refused("model:runs:bogus=1", {"'model:runs' has no parameter 'bogus'"});
  expect_refused(plugin_path() + ":bogus=1", {"(size-classes) has no parameter 'bogus'"});
}

TEST(Spec, FindsNoMissingPlugin) {
  const auto spec = parse_spec("plugin:/none/libmine.so");
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().code, base::ErrorCode::kNotFound);
  EXPECT_NE(spec.error().message.find("there is no file '/none/libmine.so'"), std::string::npos);
}

TEST(Spec, TakesNoDirectoryForAPlugin) {
  const tests::TempDir dir;
  EXPECT_FALSE(parse_spec("plugin:" + dir.path().string()).ok());
}

TEST(Spec, OfAMissingLibraryFailsWhenItStarts) {
  for (const std::string spec : {"lib:/none/libmine.so", "jemalloc@/none/libmine.so"}) {
    const auto backend = parsed(spec).make({});
    const auto started = backend->start();
    ASSERT_FALSE(started.ok()) << spec;
    EXPECT_EQ(started.error().code, base::ErrorCode::kTarget);
    EXPECT_NE(started.error().message.find("there is no file '/none/libmine.so'"),
              std::string::npos);
  }
}

TEST(Spec, NamesTheFileOfAPathAlone) {
  EXPECT_EQ(parsed("lib:libmine.so").file(), "libmine.so");
  EXPECT_EQ(parsed("mimalloc@./libmine.so").file(), "./libmine.so");
  EXPECT_EQ(parsed("mimalloc@2.0.9").file(), "");
  EXPECT_EQ(parsed("glibc").file(), "");
}

TEST(Spec, TellsRealCodeFromTheRest) {
  for (const char* text : {"glibc", "jemalloc"}) EXPECT_TRUE(parsed(text).runs_real_code()) << text;
  for (const std::string& text :
       {std::string("noop"), std::string("recorded"), std::string("model:runs"), plugin_path()}) {
    EXPECT_FALSE(parsed(text).runs_real_code()) << text;
  }
}

TEST(Spec, KnowsTheFamilyOfAnAllocator) {
  EXPECT_EQ(parsed("a=glibc MALLOC_ARENA_MAX=1").family(), "glibc");
  EXPECT_EQ(parsed("jemalloc").family(), "jemalloc");
  EXPECT_EQ(parsed("model:ptmalloc").family(), "glibc");
  EXPECT_EQ(parsed("model:bump").family(), "model:bump");
  EXPECT_EQ(parsed("noop").family(), "");
}

}  // namespace
}  // namespace heaptape::allocators
