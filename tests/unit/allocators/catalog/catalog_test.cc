#include "allocators/catalog/catalog.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/golden.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::allocators {
namespace {

std::unique_ptr<Backend> made(const std::string& text) {
  static const schema::TapeHeader header = tests::sample_header();
  return parse_spec(text)->make({&header, Touch::kNone});
}

TEST(Catalog, CanMakeEverythingThatItLists) {
  for (const CatalogEntry& entry : catalog()) {
    EXPECT_FALSE(entry.description.empty());
    if (entry.takes_path()) continue;
    EXPECT_NE(made(entry.name), nullptr) << entry.name;
    EXPECT_EQ(parse_spec(entry.name)->kind, entry.kind) << entry.name;
  }
}

// Which other notes and descriptions repeat.
TEST(Catalog, DescribesTheVersionThatAModelComputes) {
  for (const ModelEntry& model : models()) {
    if (model.family == nullptr) continue;
    const std::string name = std::string(model.family) + " " + model.version;
    EXPECT_NE(std::string(model.description).find(name), std::string::npos) << model.name;
    EXPECT_EQ(parse_spec(model.name)->modelled_version(), model.version);
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
    if (entry.kind != BackendKind::kModel) continue;
    const std::string pages = pages_of(entry.name);
    for (const base::Parameter& parameter : entry.parameters) {
      EXPECT_NE(pages.find("`" + parameter.name + "`"), std::string::npos)
          << entry.name << " " << parameter.name;
    }
    for (const Counter& counter : made(entry.name)->counters()) {
      if (counter.name.starts_with("base.")) continue;
      EXPECT_NE(pages.find("`" + counter.name + "`"), std::string::npos)
          << entry.name << " " << counter.name;
    }
  }
}

}  // namespace
}  // namespace heaptape::allocators
