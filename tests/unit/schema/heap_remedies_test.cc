#include "schema/heap_remedies.h"

#include <gtest/gtest.h>

namespace heaptape::schema {
namespace {

using Texts = std::vector<std::string>;

TEST(HeapsText, NamesAllOfThem) {
  EXPECT_EQ(heaps_text({}), "");
  EXPECT_EQ(heaps_text({"jemalloc"}), "jemalloc");
  EXPECT_EQ(heaps_text({"pymalloc", "go"}), "pymalloc and the Go heap");
  EXPECT_EQ(heaps_text({"of tomorrow"}), "of tomorrow");
}

TEST(OwnerText, HasTheHeapsOfItsFile) {
  const std::vector<InnerAllocator> files = {{"/usr/bin/node", {"v8"}},
                                             {"/usr/lib/libarrow.so.12", {"jemalloc", "go"}}};
  EXPECT_EQ(owner_text("node", files), "node (V8 heap)");
  EXPECT_EQ(owner_text("libarrow", files), "libarrow (jemalloc and Go heap)");
  EXPECT_EQ(owner_text("libarro", files), "libarro");
  EXPECT_EQ(owner_text("node", {}), "node");
}

TEST(HeapRemedies, DependOnTheFile) {
  EXPECT_EQ(heap_remedies({"php"}, "/usr/bin/php8.2"),
            Texts{"USE_ZEND_ALLOC=0 makes PHP call malloc"});
  const Texts arrow{"ARROW_DEFAULT_MEMORY_POOL=system makes Arrow call malloc"};
  EXPECT_EQ(heap_remedies({"jemalloc", "mimalloc"}, "/site-packages/pyarrow/libarrow.so.2200"),
            arrow);
  EXPECT_EQ(heap_remedies({"mimalloc"}, "/arrow/polars.so"),
            Texts{"MIMALLOC_SHOW_STATS=1 makes the mimalloc inside print statistics"});
  EXPECT_EQ(heap_remedies({"jemalloc", "v8"}, "/bin/x").size(), 2u);
  EXPECT_EQ(heap_remedies({"of tomorrow"}, "/bin/x"), Texts());
}

}  // namespace
}  // namespace heaptape::schema
