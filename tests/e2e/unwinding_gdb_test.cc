// heaptape record --stacks dwarf, and symbols, on stacks of all kinds: against what gdb prints.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "schema/tape/stack_end.h"
#include "tests/e2e/recorded_stacks.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Addresses;
using Texts = std::vector<std::string>;

constexpr const char* kSource = "unwinding.cc";

// A shape of targets/unwinding.cc, and how many of its calls are compared at least.
struct Shape {
  const char* name;
  size_t calls;
  std::string more = "";
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

struct Known {
  std::vector<Addresses> stacks;
  std::vector<Texts> functions;  // of this program alone: "name:line"
};

class StacksByGdb : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (tests::kSanitized) GTEST_SKIP() << "gdb would follow what a sanitizer starts";
    const auto ended =
        tests::run_command(Texts{"gdb", "-nx", "-batch", "-ex", "python print(6 * 7)", "-ex",
                                 "set startup-with-shell off", "-ex", "run", "--args", "true"});
    if (ended.out.find("42") == std::string::npos) GTEST_SKIP() << "there is no gdb with Python";
    if (ended.out.find("exited normally") == std::string::npos) {
      GTEST_SKIP() << "gdb may not trace programs here";
    }
  }
  void record_under_gdb() {
    Texts words = {"gdb", "-nx", "-batch", "-x", HEAPTAPE_GDB_SCRIPT, "--args"};
    for (const std::string& word :
         Texts{tests::heaptape_path(), "record", "--force", "--stacks", "dwarf,depth=100", "-o",
               tape_, "--", tests::target_path("unwinding"), GetParam().name}) {
      words.push_back(word);
    }
    if (!GetParam().more.empty()) words.push_back(tests::target_path(GetParam().more));
    const std::string out = dir_.file("gdb.txt");
    // gdb follows the program and ends with it, perhaps before the recorder.
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    const auto ended = tests::run({.words = words,
                                   .environment = {"GDB_BACKTRACES=" + out, "GDB_SIZES=1000-9999",
                                                   std::string("GDB_SOURCE=") + kSource}});
    ASSERT_EQ(ended.status, 0) << ended.describe();
    while (wait(nullptr) > 0) {
    }
    read_backtraces(out);
  }
  void read_backtraces(const std::string& path) {
    std::istringstream lines(tests::run_command({"cat", path}).out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      uint64_t size = 0;
      words >> size;
      Known& known = by_gdb_[size];
      known.stacks.emplace_back();
      known.functions.emplace_back();
      std::string word;
      while (words >> word && word != "|")
        known.stacks.back().push_back(std::stoull(word, nullptr, 16));
      while (words >> word) known.functions.back().push_back(plain(word));
    }
  }
  // "name:line" of the frames that heaptape dump shows, by size.
  std::map<uint64_t, std::vector<Texts>> dumped() const {
    std::map<uint64_t, std::vector<Texts>> result;
    std::map<std::string, Texts> stacks;
    std::vector<std::pair<uint64_t, std::string>> calls;
    std::istringstream lines(tests::run({"heaptape", "dump", tape_, "--stacks"}).out);
    for (std::string line; std::getline(lines, line);) {
      const size_t stack = line.rfind(" stack ");
      const size_t malloc = line.find(" malloc(");
      if (!line.starts_with("    ")) {
        if (stack == std::string::npos || malloc == std::string::npos)
          calls.emplace_back(0, "");
        else
          calls.emplace_back(std::stoull(line.substr(malloc + 8)), line.substr(stack + 7));
      } else if (const size_t place = line.rfind(std::string("(") + kSource + ":");
                 place != std::string::npos) {
        const size_t number = place + std::string(kSource).size() + 2;
        stacks[calls.back().second].push_back(
            plain(line.substr(4, place - 5) + ":" + line.substr(number, line.size() - number - 1)));
      }
    }
    for (const auto& [size, stack] : calls) result[size].push_back(stacks[stack]);
    return result;
  }
  // Without what gdb and we write in ways of our own: types, namespaces, parts of functions.
  static std::string plain(const std::string& text) {
    std::string name = text.substr(0, text.rfind(':'));
    for (const char* words : {"(anonymous namespace)::", "(anonymousnamespace)::"}) {
      for (size_t at = name.find(words); at != std::string::npos; at = name.find(words)) {
        name.erase(at, std::string(words).size());
      }
    }
    name = name.substr(0, name.find_first_of("(<["));
    name = name.substr(name.find_last_of(" :") + 1);
    return name + text.substr(text.rfind(':'));
  }
  void expect_same_addresses() const {
    auto recorded = tests::stacks_on_tape(tape_);
    size_t calls = 0;
    for (const auto& [size, known] : by_gdb_) {
      SCOPED_TRACE(size);
      ASSERT_EQ(recorded[size].size(), known.stacks.size());
      for (size_t i = 0; i < known.stacks.size(); ++i, ++calls) {
        expect_same(recorded[size][i], known.stacks[i]);
      }
    }
    EXPECT_GE(calls, GetParam().calls);
  }
  // Those of inlined functions, and lines, too.
  void expect_same_names() const {
    auto ours = dumped();
    for (const auto& [size, known] : by_gdb_) {
      SCOPED_TRACE(size);
      ASSERT_EQ(ours[size].size(), known.functions.size());
      for (size_t i = 0; i < known.functions.size(); ++i) {
        Texts gdb = known.functions[i];
        gdb.resize(std::min(gdb.size(), ours[size][i].size()));  // a stack that was cut
        EXPECT_EQ(ours[size][i], gdb);
        EXPECT_FALSE(gdb.empty() && !known.functions[i].empty());
      }
    }
  }
  // Where ours ends early, gdb may go on, or guess.
  static void expect_same(const Addresses& ours, Addresses gdb) {
    const bool is_cut = ours.back() < schema::kStackEnds;
    if (is_cut && gdb.size() >= ours.size()) {
      gdb.resize(ours.size());
      gdb.back() = ours.back();
    }
    ASSERT_EQ(ours, gdb) << "recorded " << tests::text(ours) << "\ngdb      " << tests::text(gdb);
  }

  const tests::TempDir dir_;
  const std::string tape_ = dir_.file("a.tape");
  std::map<uint64_t, Known> by_gdb_;
};

// Both of one recording, for gdb takes its time.
TEST_P(StacksByGdb, AreTheSame) {
  record_under_gdb();
  if (HasFatalFailure()) return;
  expect_same_addresses();
  expect_same_names();
}

INSTANTIATE_TEST_SUITE_P(Of, StacksByGdb,
                         testing::Values(Shape{"plain", 18}, Shape{"signals", 9},
                                         Shape{"exceptions", 4}, Shape{"jumps", 6},
                                         Shape{"coroutines", 10}, Shape{"threads", 6},
                                         Shape{"assembly", 3}, Shape{"stubs", 2}, Shape{"deep", 2},
                                         Shape{"libraries", 200, "call_back_200.so"}),
                         [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace heaptape
