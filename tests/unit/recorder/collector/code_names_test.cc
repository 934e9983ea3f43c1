#include "recorder/collector/code_names.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

class CodeNamesTest : public testing::Test {
 protected:
  static constexpr int64_t kSecondNs = 1'000'000'000;

  std::string path(uint32_t pid = 7) const {
    return dir_.file("perf-" + std::to_string(pid) + ".map");
  }
  void append(const std::string& text, uint32_t pid = 7) const {
    std::ofstream(path(pid), std::ios::app) << text;
  }
  std::shared_ptr<PerfMap> map(uint32_t owner = geteuid(), int64_t begin_ns = 0) const {
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    auto folder = std::make_shared<base::Descriptor>(open(dir_.path().c_str(), kFlags));
    return std::make_shared<PerfMap>(std::move(folder), owner, 7, begin_ns);
  }
  // Of a process that is there since now; what was written before is an older one's.
  std::shared_ptr<PerfMap> new_map() const {
    return map(geteuid(), static_cast<int64_t>(base::clock_ns(CLOCK_REALTIME)) - kSecondNs);
  }
  // As if the file had last been written a minute ago.
  void make_old(uint32_t pid = 7) const {
    timespec then[2] = {};
    clock_gettime(CLOCK_REALTIME, &then[0]);
    then[0].tv_sec -= 60;
    then[1] = then[0];
    ASSERT_EQ(utimensat(AT_FDCWD, path(pid).c_str(), then, 0), 0);
  }
  // The names found for calls at these addresses, in the order of addresses.
  static std::string names(CodeNames& names, const std::vector<uint64_t>& calls) {
    names.add(calls);
    names.look();
    std::string text;
    for (const schema::CodeMapping& name : names.take()) text += name.function + ",";
    return text;
  }
  std::string names(const std::vector<uint64_t>& calls) { return names(names_, calls); }

  tests::TempDir dir_;
  CodeNames names_{{map()}};
};

TEST_F(CodeNamesTest, AreThoseOfCodeThatIsCalledThrough) {
  append("1000 20 first\n1020 e0 second one\n0x2000 0x10 third\n");
  EXPECT_EQ(names({0x1010, 0x10ff, 0x1100, 0x2000}), "first,second one,third,");
}

TEST_F(CodeNamesTest, AreMappings) {
  append("1000 20 first\n");
  names_.add({0x1010});
  names_.look();
  EXPECT_EQ(names_.take(),
            (std::vector<schema::CodeMapping>{{0, {0x1000, 0x1020}, 0, "[jit]", "", "first"}}));
}

TEST_F(CodeNamesTest, AreGivenOnce) {
  append("1000 20 first\n");
  EXPECT_EQ(names({0x1000, 0x1001}), "first,");
  EXPECT_EQ(names({0x1002}), "");
}

TEST_F(CodeNamesTest, MayComeLater) {
  EXPECT_EQ(names({0x1000}), "");
  append("1000 20 fir");
  EXPECT_EQ(names({}), "");
  append("st\n");
  EXPECT_EQ(names({}), "first,");
}

TEST_F(CodeNamesTest, AreTheLastOfAnAddress) {
  append("1000 20 first\n1010 20 second\n");
  EXPECT_EQ(names({0x100f, 0x1010}), "first,second,");
  append("1000 100 third\n");
  EXPECT_EQ(names({0x1001}), "third,");
}

TEST_F(CodeNamesTest, AreReadAnewWhereTheFileWasReplaced) {
  append("1000 20 first\n");
  EXPECT_EQ(names({0x1000}), "first,");
  append("2000 20 other\n3000 20 and more\n", 8);
  std::filesystem::rename(path(8), path());
  EXPECT_EQ(names({0x2000, 0x3000}), "other,and more,");
  std::ofstream(path()) << "4000 20 short\n";  // over the same file
  EXPECT_EQ(names({0x4000}), "short,");
  std::ofstream(path()) << "5000 20 longer than what was there\n6000 20 last\n";
  EXPECT_EQ(names({0x5000, 0x6000}), "longer than what was there,last,");
}

TEST_F(CodeNamesTest, StayKnownWhereTheFileIsRemoved) {
  append("1000 20 first\n2000 20 second\n");
  EXPECT_EQ(names({0x1000}), "first,");
  std::filesystem::remove(path());
  EXPECT_EQ(names({0x2000}), "second,");
}

TEST_F(CodeNamesTest, AreThoseOfTheParentWhereThereAreNoOthers) {
  append("1000 20 parent\n2000 20 parent's second\n");
  append("1000 20 child\n", 8);
  CodeNames of_child({map()->of_child(8), map()});
  EXPECT_EQ(names(of_child, {0x1000, 0x2000}), "child,parent's second,");
}

TEST_F(CodeNamesTest, AreThoseOfAllAncestors) {
  append("1000 20 oldest\n2000 20 oldest's second\n3000 20 oldest's third\n");
  append("1000 20 parent\n2000 20 parent's second\n", 8);
  append("1000 20 child\n", 9);
  CodeNames of_child({perf_maps_of_child(perf_maps_of_child({map()}, 8), 9)});
  EXPECT_EQ(names(of_child, {0x1000, 0x2000, 0x3000}), "child,parent's second,oldest's third,");
}

TEST_F(CodeNamesTest, AreThoseOfTheNearestAncestorsWhereThereAreMany) {
  PerfMaps maps = {map()};
  for (uint32_t pid = 8; pid < 108; ++pid) maps = perf_maps_of_child(maps, pid);
  EXPECT_EQ(maps.size(), kMostPerfMaps);
  append("1000 20 child\n", 107);
  append("1000 20 parent\n2000 20 parent's second\n", 106);
  CodeNames of_child(maps);
  EXPECT_EQ(names(of_child, {0x1000, 0x2000}), "child,parent's second,");
  EXPECT_TRUE(perf_maps_of_child({}, 7).empty());
}

TEST_F(CodeNamesTest, AreNotThoseOfAnOlderProcess) {
  append("1000 20 old\n");
  make_old();
  CodeNames of_new({new_map()});
  EXPECT_EQ(names(of_new, {0x1000}), "");
  std::ofstream(path()) << "1000 20 new\n";
  EXPECT_EQ(names(of_new, {}), "new,");
}

TEST_F(CodeNamesTest, AreNotThoseOfAnOlderProcessOfAChildsNumber) {
  append("1000 20 old\n", 8);
  make_old(8);
  append("1000 20 parent\n");
  CodeNames of_child({perf_maps_of_child({map()}, 8)});
  EXPECT_EQ(names(of_child, {0x1000}), "parent,");
}

TEST_F(CodeNamesTest, AreNotThoseThatAnOlderProcessLeftInTheFile) {
  append("1000 20 old\n2000 20 old's second\n3000 20 not who");
  make_old();
  const auto map = new_map();
  map->skip_old();
  CodeNames of_new({map});
  EXPECT_EQ(names(of_new, {0x1000}), "");
  append("le\n2000 20 new\n");
  EXPECT_EQ(names(of_new, {0x2000, 0x3000}), "new,");
  std::ofstream(path()) << "1000 20 new's second\n";
  EXPECT_EQ(names(of_new, {}), "new's second,");
}

TEST_F(CodeNamesTest, AreLookedForAgainOnlyWhereMoreAreKnown) {
  names_.add({0x1000, 0x2000, 0x3000});
  EXPECT_EQ(names_.look(), 3u);
  EXPECT_EQ(names_.look(), 0u);
  names_.add({0x4000});
  EXPECT_EQ(names_.look(), 1u);
  append("4000 20 fourth\n");
  EXPECT_EQ(names_.look(), 4u);
  EXPECT_EQ(names_.look(), 0u);
  append("5000 20 fifth\n");
  EXPECT_EQ(names_.look(), 3u);
}

// Another process may read the same file at the time.
TEST_F(CodeNamesTest, AreLookedForAgainWhereAnotherProcessReadTheFile) {
  const auto shared = map();
  CodeNames one({shared});
  CodeNames other({shared});
  EXPECT_EQ(names(one, {0x1000}), "");
  append("1000 20 first\n");
  EXPECT_EQ(names(other, {0x1000}), "first,");
  EXPECT_EQ(names(one, {}), "first,");
}

TEST_F(CodeNamesTest, AreNotReadUnlessCodeIsCalledThrough) {
  std::filesystem::create_directory(path());
  EXPECT_EQ(names({}), "");
}

TEST_F(CodeNamesTest, LeaveOutLinesThatMakeNoSense) {
  append(
      "\n\n1000\n1000 \n1000 20\n1000 20 \nx 20 a\n-1 20 a\n1000 0 a\n1000 -5 a\n"
      "ffffffffffffffff 20 a\n1000 ffffffffffffffff a\n11111111111111111111 20 a\n"
      "1000 10 good\r\n");
  EXPECT_EQ(names({0x1000, 0x1010}), "good,");
}

TEST_F(CodeNamesTest, AreCutWhereTheyAreLong) {
  append("1000 20 " + std::string(100'000, 'a') + "\n2000 20 " + std::string(2000, 'b') +
         "\n3000 20 c\n");
  EXPECT_EQ(names({0x2000, 0x3000}), std::string(PerfMap::kMostNameBytes, 'b') + ",c,");
  EXPECT_EQ(names({0x1000}), "");  // no line is so long
}

TEST_F(CodeNamesTest, HaveALimit) {
  std::string lines;
  for (uint64_t i = 0; i <= PerfMap::kMostNames; ++i) {
    char line[32];
    lines.append(line, static_cast<size_t>(snprintf(line, sizeof line, "%lx 1 a\n", 0x1000 + i)));
  }
  append(lines);
  EXPECT_EQ(names({0x1000 + PerfMap::kMostNames}), "");
  EXPECT_EQ(names({0x1000 + PerfMap::kMostNames - 1}), "a,");
}

// A tape has room for so many bytes.
TEST_F(CodeNamesTest, AreNotMoreBytesThanATapeTakes) {
  constexpr uint64_t kNames = 20'000;
  std::string lines;
  std::vector<uint64_t> calls;
  for (uint64_t i = 1; i <= kNames; ++i) {
    char begin[32];
    lines.append(begin, static_cast<size_t>(snprintf(begin, sizeof begin, "%lx 1 ", i)));
    lines += std::string(1000, 'a') + "\n";
    calls.push_back(i);
  }
  append(lines);
  const size_t bytes = names(calls).size();
  EXPECT_GT(bytes, size_t{4} << 20);
  EXPECT_LT(bytes, size_t{9} << 20);
}

TEST_F(CodeNamesTest, AreNoOtherUsers) {
  append("1000 20 first\n");
  CodeNames of_other({map(geteuid() + 1)});
  EXPECT_EQ(names(of_other, {0x1000}), "");
}

TEST_F(CodeNamesTest, AreNotReadFromAPipe) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(names({0x1000}), "");
}

TEST_F(CodeNamesTest, AreNotReadThroughALink) {
  append("1000 20 first\n", 8);
  std::filesystem::create_symlink(path(8), path());
  EXPECT_EQ(names({0x1000}), "");
  std::filesystem::remove(path());
  std::filesystem::create_symlink("/dev/zero", path());
  EXPECT_EQ(names({0x1000}), "");
}

// Who asks is not held up: neither all lines nor none are known meanwhile.
TEST_F(CodeNamesTest, AreFoundWhileTheFileIsRead) {
  constexpr uint64_t kLines = 500'000;
  std::string lines;
  for (uint64_t i = 1; i <= kLines; ++i) {
    char line[32];
    lines.append(line, static_cast<size_t>(snprintf(line, sizeof line, "%lx 1 a\n", i)));
  }
  append(lines);
  const auto read = map();
  std::thread reader([&] { EXPECT_EQ(read->refresh(), kLines); });
  while (!read->find(1)) std::this_thread::yield();
  EXPECT_FALSE(read->find(kLines));
  reader.join();
  EXPECT_TRUE(read->find(kLines));
}

TEST(PerfMap, IsFoundForAProcess) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ofstream(path) << "1000 20 own\n";
  const auto map = PerfMap::of_process(static_cast<uint32_t>(getpid()));
  ASSERT_NE(map, nullptr);
  map->refresh();
  std::filesystem::remove(path);
  ASSERT_TRUE(map->find(0x1000));
  EXPECT_EQ(map->find(0x1000)->text, "own");
}

TEST(PerfMap, IsOfNoProcessThatIsNotThere) {
  EXPECT_EQ(PerfMap::of_process(0x7fffffff), nullptr);
}

}  // namespace
}  // namespace heaptape::recorder
