#include "allocators/plugin/plugin_loader.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "allocators/plugin/plugin_backend.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::allocators {
namespace {

using Sets = std::vector<std::string>;

TEST(PluginSpec, MayBeAPathAlone) {
  EXPECT_EQ(parse_plugin_spec("./libmine.so").path, "./libmine.so");
  EXPECT_TRUE(parse_plugin_spec("./libmine.so").sets.empty());
}

TEST(PluginSpec, HasOptionsBehindItsLastColon) {
  const PluginSpec spec = parse_plugin_spec("./libmine.so:a=1,fit=best");
  EXPECT_EQ(spec.path, "./libmine.so");
  EXPECT_EQ(spec.sets, (Sets{"a=1", "fit=best"}));
}

TEST(PluginSpec, TakesAColonInAPathForWhatItIs) {
  EXPECT_EQ(parse_plugin_spec("./a:b.so").path, "./a:b.so");
  EXPECT_EQ(parse_plugin_spec("/x:y=z/libmine.so").path, "/x:y=z/libmine.so");
  EXPECT_EQ(parse_plugin_spec("./a:b.so:c=1").path, "./a:b.so");
}

TEST(PluginSpec, MayEndInAColonWhereThePathHasAnEqualsSign) {
  EXPECT_EQ(parse_plugin_spec("./a:b=c.so:").path, "./a:b=c.so");
  EXPECT_TRUE(parse_plugin_spec("./a:b=c.so:").sets.empty());
}

class PluginLoader : public testing::Test {
 protected:
  void expect_refused(const std::string& path, const std::string& part) {
    const auto plugin = load_plugin("no", path);
    ASSERT_FALSE(plugin.ok()) << path;
    EXPECT_TRUE(plugin.error().message.starts_with("no: ")) << plugin.error().message;
    EXPECT_NE(plugin.error().message.find(part), std::string::npos) << plugin.error().message;
    code_ = plugin.error().code;
  }
  std::string file(const std::string& name, const std::string& bytes) {
    tests::write_bytes(dir_.file(name), bytes);
    return dir_.file(name);
  }

  tests::TempDir dir_;
  base::ErrorCode code_ = base::ErrorCode::kIo;
};

TEST_F(PluginLoader, FindsNoFileThatIsNotThere) {
  expect_refused("/none/libmine.so", "there is no file '/none/libmine.so'");
  EXPECT_EQ(code_, base::ErrorCode::kNotFound);
}

TEST_F(PluginLoader, SeesThatAnOptionWasMeant) {
  const std::string library = tests::target_path("libsize_classes.so");
  expect_refused(library + ":verbose", "options are of the form name=value, and 'verbose' is not");
}

TEST_F(PluginLoader, RefusesWhatIsNoFile) {
  expect_refused(dir_.path(), "is a directory, not a shared library");
  expect_refused("/dev/zero", "is not a regular file");
}

TEST_F(PluginLoader, RefusesFilesThatAreNoLibrary) {
  expect_refused(file("text", std::string(2000, 'x')), "is not a shared library (ELF)");
  expect_refused(file("empty", ""), "is not a shared library (ELF)");
  expect_refused(file("script", "#!/bin/sh\n"), "is not a shared library (ELF)");
  EXPECT_EQ(code_, base::ErrorCode::kTarget);
}

TEST_F(PluginLoader, RefusesLibrariesThatWereCutShortAnywhere) {
  const std::string bytes = tests::read_bytes(tests::target_path("libsize_classes.so"));
  expect_refused(file("magic", bytes.substr(0, 30)), "is not a shared library (ELF)");
  for (const size_t kept : {size_t{64}, size_t{300}, size_t{5000}}) {
    expect_refused(file("cut", bytes.substr(0, kept)), "was cut short");
  }
}

TEST_F(PluginLoader, RefusesLibrariesOfOtherMachines) {
  std::string bytes = tests::read_bytes(tests::target_path("libsize_classes.so"));
  bytes[18] = '\xb7';  // e_machine: AArch64
  expect_refused(file("arm", bytes), "is for another machine");
}

TEST_F(PluginLoader, RefusesPrograms) {
  expect_refused("/proc/self/exe", "cannot dynamically load");
}

TEST_F(PluginLoader, RefusesLibrariesThatAreNoPlugin) {
  expect_refused("/lib/x86_64-linux-gnu/libc.so.6", "it exports no heaptape_plugin_v1()");
}

TEST_F(PluginLoader, LoadsANameInTheCurrentFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(tests::target_path("x")).parent_path());
  EXPECT_TRUE(load_plugin("no", "libsize_classes.so").ok());
  std::filesystem::current_path(before);
}

TEST_F(PluginLoader, LearnsWhatAPluginSaysOfItself) {
  const auto plugin = load_plugin("no", tests::target_path("libsize_classes.so"));
  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ(plugin->name, "size-classes");
  EXPECT_EQ(plugin->counter_names, (Sets{"slabsMade", "slabBytes"}));
  ASSERT_EQ(plugin->parameters.size(), 1u);
  EXPECT_EQ(plugin->parameters[0].name, "min_block");
  EXPECT_EQ(plugin->parameters[0].value, 16u);
}

// tests/e2e/targets/misfit_plugin.c
class MisfitPlugin : public PluginLoader {
 protected:
  ~MisfitPlugin() override { unsetenv("HEAPTAPE_MISFIT"); }
  void expect_misfit(const char* misfit, const std::string& part) {
    SCOPED_TRACE(misfit);
    setenv("HEAPTAPE_MISFIT", misfit, 1);
    expect_refused(path_, part);
  }
  const std::string path_ = tests::target_path("libmisfit_plugin.so");
};

TEST_F(MisfitPlugin, IsLoadedWhenAllFits) {
  const auto plugin = load_plugin("no", path_);
  ASSERT_TRUE(plugin.ok()) << plugin.error().message;
  EXPECT_EQ(plugin->parameters[0].choices, (Sets{"one", "two"}));
}

TEST_F(MisfitPlugin, MayComeFromALaterVersionThatKnowsMore) {
  setenv("HEAPTAPE_MISFIT", "grown_table", 1);
  EXPECT_TRUE(load_plugin("no", path_).ok());
}

TEST_F(MisfitPlugin, IsRefusedForItsVersion) {
  expect_misfit("version_0", "it is of ABI version 0, this heaptape supports 1");
  EXPECT_EQ(code_, base::ErrorCode::kTarget);
  expect_misfit("version_2", "it is of ABI version 2, this heaptape supports 1");
  EXPECT_EQ(code_, base::ErrorCode::kNewerVersion);
}

TEST_F(MisfitPlugin, IsRefusedWithoutATable) {
  expect_misfit("null_table", "heaptape_plugin_v1 returned NULL");
  expect_misfit("short_table", "its struct_size is 8: it must be sizeof(heaptape_plugin)");
}

TEST_F(MisfitPlugin, IsRefusedWithoutTheFunctionsThatAllModelsHave) {
  for (const char* name : {"create", "destroy", "allocate", "reallocate", "release"}) {
    expect_misfit((std::string("no_") + name).c_str(), std::string("it has no ") + name + "()");
  }
}

TEST_F(MisfitPlugin, IsRefusedWithHalfOfAPair) {
  expect_misfit("no_work_unit", "it has work() but no work_unit");
  expect_misfit("no_read_counters", "it lists counters but has no read_counters()");
}

TEST_F(MisfitPlugin, IsRefusedWithoutAName) {
  for (const char* misfit : {"no_name", "empty_name"}) expect_misfit(misfit, "it has no name");
}

TEST_F(MisfitPlugin, IsRefusedForItsGranule) {
  expect_misfit("granule_0", "its granule_bytes is 0: it must be 8, 16, 32 or 64");
  expect_misfit("granule_24", "is 24");
  expect_misfit("granule_128", "is 128");
}

TEST_F(MisfitPlugin, IsRefusedForListsThatAreNotThere) {
  expect_misfit("no_parameters", "its list of parameters is NULL");
  expect_misfit("no_counters", "its list of counters is NULL");
}

TEST_F(MisfitPlugin, IsRefusedForWildNumbers) {
  expect_misfit("wild_parameters", "it lists 18446744073709551615 parameters");
  expect_misfit("wild_counters", "it lists 18446744073709551615 counters");
}

TEST_F(MisfitPlugin, IsRefusedForCountersThatNoGateCouldName) {
  expect_misfit("counter_blank", "the name of counter 1 is 'bad name'");
  for (const char* misfit : {"counter_op", "counter_null", "counter_empty", "counter_digit",
                             "counter_long", "counter_utf8"}) {
    expect_misfit(misfit, "the name of counter 1 is '");
  }
  expect_misfit("counter_twice", "two counters are called 'good'");
}

TEST_F(MisfitPlugin, IsRefusedWithAShortSentenceForAVeryLongName) {
  setenv("HEAPTAPE_MISFIT", "counter_long", 1);
  const auto plugin = load_plugin("no", path_);
  ASSERT_FALSE(plugin.ok());
  EXPECT_LT(plugin.error().message.size(), 1200u);
}

TEST_F(MisfitPlugin, IsRefusedForParametersThatNobodyCouldSet) {
  expect_misfit("parameter_null", "the name of parameter 1 is ''");
  expect_misfit("parameter_equals", "the name of parameter 1 is 'a=b'");
  expect_misfit("parameter_twice", "two parameters are called 'first'");
  expect_misfit("parameter_check", "'check', a name that heaptape keeps for itself");
}

TEST_F(MisfitPlugin, IsRefusedForChoicesThatNobodyCouldMake) {
  expect_misfit("choice_comma", "a choice of the parameter 'first' is 'a,b'");
  expect_misfit("choice_twice", "a choice of the parameter 'first' is 'one'");
  expect_misfit("choice_default", "the default of the parameter 'first' is not one of its choices");
  expect_misfit("choice_none", "the default of the parameter 'first' is not one of its choices");
}

class PluginOptions : public testing::Test {
 protected:
  void expect_refused(const std::string& options, const std::string& part) {
    const auto plugin = load_plugin("no", tests::target_path("libfaulty_plugin.so"));
    ASSERT_TRUE(plugin.ok()) << plugin.error().message;
    const auto values = plugin_options(*plugin, "plugin:x.so", base::split_sets(options));
    ASSERT_FALSE(values.ok()) << options;
    EXPECT_EQ(values.error().code, base::ErrorCode::kUsage);
    EXPECT_NE(values.error().message.find(part), std::string::npos) << values.error().message;
  }
};

TEST_F(PluginOptions, OfUnknownNamesAreRefusedWithThoseKnown) {
  expect_refused("colour=3", "has no parameter 'colour'; it has fault, unused, check");
}

TEST_F(PluginOptions, MustBeAmongTheChoices) {
  expect_refused("fault=crash", "'fault=crash' is not valid; fault can be: none, overlap");
  expect_refused("check=2", "'check=2' is not valid; check can be: off, on");
}

TEST_F(PluginOptions, MustBeNumbersWithoutChoices) {
  expect_refused("unused=many", "unused=NUMBER");
}

}  // namespace
}  // namespace heaptape::allocators
