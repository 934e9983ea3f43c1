#include "schema/heap_remedies.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "schema/owned_memory.h"

namespace heaptape::schema {
namespace {

// Applies to files whose name contains `file_part`; the first match counts.
struct Remedy {
  std::string_view heap;
  std::string_view file_part;
  std::string_view text;
};
constexpr Remedy kRemedies[] = {
    // arrow.apache.org/docs/cpp/env_vars.html
    {"jemalloc", "arrow", "ARROW_DEFAULT_MEMORY_POOL=system makes Arrow call malloc"},
    {"mimalloc", "arrow", "ARROW_DEFAULT_MEMORY_POOL=system makes Arrow call malloc"},
    // jemalloc(3), "stats_print"; tikv-jemallocator's README for the prefix
    {"jemalloc", "",
     "MALLOC_CONF=stats_print:true (_RJEM_MALLOC_CONF in Rust programs) makes the jemalloc inside "
     "print statistics"},
    // microsoft/mimalloc, readme.md, "Environment Options"
    {"mimalloc", "", "MIMALLOC_SHOW_STATS=1 makes the mimalloc inside print statistics"},
    // gperftools, docs/tcmalloc.html, "Modifying Runtime Behavior"
    {"tcmalloc", "", "MALLOCSTATS=1 makes the tcmalloc inside print statistics"},
    // docs.python.org/3/using/cmdline.html
    {"pymalloc", "", "PYTHONMALLOC=malloc makes Python call malloc for each object; it costs time"},
    // pkg.go.dev/runtime, "Environment Variables"
    {"go", "", "GOGC and GOMEMLIMIT bound the Go heap; runtime/pprof shows what is in it"},
    // The java command of JDK 21; its troubleshooting guide, "Native Memory Tracking"
    {"java", "",
     "-Xmx bounds the Java heap; -XX:NativeMemoryTracking=summary and `jcmd PID VM.native_memory` "
     "show the rest"},
    // nodejs.org/api/cli.html and v8.html
    {"v8", "", "--max-old-space-size bounds the V8 heap; v8.getHeapStatistics() shows its size"},
    // php.net/manual, "Zend Memory Manager"; php-src, Zend/zend_alloc.c
    {"php", "", "USE_ZEND_ALLOC=0 makes PHP call malloc"},
    // ruby(1), "GC ENVIRONMENT"; docs.ruby-lang.org, class GC
    {"ruby", "",
     "RUBY_GC_HEAP_GROWTH_FACTOR bounds how fast the Ruby heap grows; GC.stat shows its pages"},
    // The GCC manual, "Optimize Options", ggc-min-expand and ggc-min-heapsize
    {"gcc", "",
     "--param ggc-min-expand=N and ggc-min-heapsize=KB bound the garbage that GCC keeps"},
};

constexpr std::pair<std::string_view, std::string_view> kOfLanguages[] = {
    {"go", "Go heap"},   {"java", "Java heap"}, {"v8", "V8 heap"},
    {"php", "PHP heap"}, {"ruby", "Ruby heap"}, {"gcc", "GCC heap"}};

std::string_view noun(std::string_view heap) {
  for (const auto& [name, text] : kOfLanguages) {
    if (name == heap) return text;
  }
  return heap;
}

// "jemalloc and the Go heap", where `article` is "the ".
std::string list_text(const std::vector<std::string>& heaps, std::string_view article) {
  std::string text;
  for (const std::string& heap : heaps) {
    const std::string_view name = noun(heap);
    text += text.empty() ? "" : " and ";
    if (name != heap) text += article;
    text += name;
  }
  return text;
}

}  // namespace

std::string heaps_text(const std::vector<std::string>& heaps) {
  return list_text(heaps, "the ");
}

std::string owner_text(const std::string& owner, const std::vector<InnerAllocator>& files) {
  const auto found = std::ranges::find_if(
      files, [&](const InnerAllocator& file) { return owner_of_file(file.file) == owner; });
  return found == files.end() ? owner : owner + " (" + list_text(found->families, "") + ")";
}

std::vector<std::string> heap_remedies(const std::vector<std::string>& heaps,
                                       const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  std::vector<std::string> remedies;
  for (const std::string& heap : heaps) {
    const auto* const remedy = std::ranges::find_if(kRemedies, [&](const Remedy& one) {
      return one.heap == heap && name.find(one.file_part) != name.npos;
    });
    if (remedy == std::end(kRemedies)) continue;
    std::string text(remedy->text);
    if (std::ranges::find(remedies, text) == remedies.end()) remedies.push_back(std::move(text));
  }
  return remedies;
}

}  // namespace heaptape::schema
