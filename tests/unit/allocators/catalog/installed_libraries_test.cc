#include "allocators/catalog/installed_libraries.h"

#include <gtest/gtest.h>

#include "schema/tape/malloc_library.h"

namespace heaptape::allocators {
namespace {

TEST(Versions, AreComparedByTheirNumbers) {
  EXPECT_TRUE(is_older_version("2.9", "2.10"));
  EXPECT_FALSE(is_older_version("2.10", "2.9"));
  EXPECT_TRUE(is_older_version("2.1.9", "3.0"));
  EXPECT_TRUE(is_older_version("5.3", "5.3.1"));
  EXPECT_FALSE(is_older_version("5.3.1", "5.3"));
  EXPECT_TRUE(is_older_version("", "0.1"));
  EXPECT_FALSE(is_older_version("", ""));
  EXPECT_FALSE(is_older_version("1.2", "1.2"));
}

TEST(InstalledLibraries, ExportWhatTheirFamilyDoes) {
  for (const std::string& family : library_families()) {
    for (const InstalledLibrary& library : installed_libraries(family, Versions::kToChoose)) {
      EXPECT_EQ(schema::identify_malloc_library(library.path).family, family) << library.path;
    }
  }
}

TEST(InstalledLibraries, AreOrderedFromTheNewestOn) {
  for (const std::string& family : library_families()) {
    const auto libraries = installed_libraries(family, Versions::kAll);
    for (size_t i = 1; i < libraries.size(); ++i) {
      EXPECT_FALSE(is_older_version(libraries[i - 1].version, libraries[i].version)) << family;
    }
  }
}

TEST(HowToInstall, NamesTheOptionThatTakesAPath) {
  for (const std::string& family : library_families()) {
    EXPECT_TRUE(how_to_install(family).ends_with("-a " + family + "@PATH") ||
                how_to_install(family).ends_with("-a " + family + "@PATH)"))
        << how_to_install(family);
  }
}

}  // namespace
}  // namespace heaptape::allocators
