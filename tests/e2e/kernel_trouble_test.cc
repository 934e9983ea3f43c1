// A kernel in trouble: system calls that are interrupted, do half of their work, or fail, at each
// place where a command makes one. Interrupted and short calls change nothing. A failure ends a
// command with one clear sentence, or is without consequence; either way each file is the earlier
// one or the new one, never a part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "tests/support/faults.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

using Files = std::map<std::string, std::string>;

constexpr size_t kMostFaults = 13;
constexpr const char* kOld = "an earlier file";

constexpr const char* kManifest =
    R"({"version": 1, "command": ["a"], "processes": [{"tape": "in.tape", "pid": 7, "parentPid": 1, "executable": "/a",
"commandLine": ["a"], "events": 1000, "bytes": 9, "lostEvents": 0, "ended": "exited", "title": ""}], "unrecorded": []})";

struct Subject {
  const char* name;
  const char* words;
};

// Files named in.* are there before, and those named out.* are written. Replays of several at once
// have no times.
const Subject kSubjects[] = {
    {"info", "info in.tape"},
    {"verify", "verify in.tape"},
    {"stats", "stats in.tape --csv out.csv"},
    {"dump", "dump in.tape --to 50"},
    {"export", "export in.tape --format mtrace -o out.txt"},
    {"recover", "recover in.cut.tape -o out.tape"},
    {"scrub", "scrub in.tape --from 100 -o out.tape"},
    {"import", "import mtrace in.txt -o out.tape"},
    {"symbolize", "symbolize in.stacks.tape"},
    {"replay",
     "replay in.tape -a model:runs -a model:ideal --jobs 2 -o out.json --csv out.csv --html "
     "out.html"},
    {"glibc", "replay in.tape -a glibc -a recorded --jobs 2 --samples 2 -o out.json"},
    {"manifest",
     "replay in.tape.manifest.json -a model:first-fit -a model:bump --jobs 2 -o out.json"},
    {"explain", "explain in.tape -a model:ptmalloc --html out.html"},
    {"explain_glibc", "explain in.tape -a glibc --at end"},
    {"holes", "holes in.tape -a model:runs"},
    {"diff", "diff in.json in.json --html out.html"},
    {"scenario", "scenario random-slots --set events=1000 -o out.tape"},
};

// The files of a directory, without the times and the page faults of replays.
Files steady_files_in(const std::string& directory) {
  Files files = files_in(directory);
  for (auto& [name, bytes] : files) {
    if (!name.ends_with(".json") && !name.ends_with(".html")) continue;
    for (const std::string before : {"elapsedNs\": ", "pageFaults\", \"value\": "}) {
      for (size_t at = 0; (at = bytes.find(before, at)) != std::string::npos;) {
        at += before.size();
        bytes.erase(at, bytes.find_first_not_of("0123456789", at) - at);
      }
    }
  }
  return files;
}

std::string file_of(const SystemCall& call) {
  std::string name = call.file.substr(call.file.rfind('/') + 1);
  for (const char* end : {" (deleted)", ".partial"}) {
    if (name.ends_with(end)) name.resize(name.size() - strlen(end));
  }
  return name;
}

class CommandsInTrouble : public testing::TestWithParam<Subject> {
 protected:
  CommandsInTrouble() {
    std::filesystem::create_directory(place_);
    for (const std::string& word : words_) make_input(word);
    inputs_ = files_in(place_);
    before_ = inputs_;
    for (const std::string& word : words_) {
      if (word.starts_with("out.")) before_[word] = kOld;
    }
    const Traced plain = run_with({});
    may_trace_ = plain.is_allowed;
    if (!may_trace_) return;
    EXPECT_EQ(plain.ended.status, 0) << plain.ended.describe();
    plain_ = plain.ended;
    calls_ = plain.calls;
    after_ = steady_files_in(place_);
  }

  void make_input(const std::string& name) const {
    Random random(3);
    const std::string path = dir_.file("place/" + name);
    if (name == "in.stacks.tape") {
      run({"heaptape", "record", "--stacks", "dwarf", "-o", path, "--",
           target_path("known_stacks")});
      std::filesystem::remove(path + ".manifest.json");
    } else if (name.starts_with("in.") && name.ends_with("tape")) {
      write_tape(path, eventful_events(random, 1000));
      if (name == "in.cut.tape")
        std::filesystem::resize_file(path, std::filesystem::file_size(path) * 3 / 4);
    } else if (name == "in.txt") {
      std::string trace = "= Start\n";
      for (int i = 0; i < 8000; ++i)
        trace += "@ ./a.out:[0x1149] + 0x1000 0x20\n@ ./a.out:[0x1149] - 0x1000\n";
      write_bytes(path, trace + "= End\n");
    } else if (name == "in.json" && !std::filesystem::exists(path)) {
      write_tape(dir_.file("t"), eventful_events(random, 1000));
      EXPECT_EQ(run({"heaptape", "replay", dir_.file("t"), "-a", "model:ideal", "-o", path}).status,
                0);
    } else if (name == "in.tape.manifest.json") {
      make_input("in.tape");
      write_bytes(path, kManifest);
    }
  }
  // In the same place, where everything is as before.
  Traced run_with(const std::vector<std::string>& faults) {
    std::filesystem::remove_all(place_);
    std::filesystem::create_directory(place_);
    for (const auto& [name, bytes] : before_) write_bytes(place_ + "/" + name, bytes);
    return run_in_trouble(place_, words_, faults);
  }

  void expect_the_same(const Ended& ended) const {
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.out, plain_.out);
    EXPECT_EQ(ended.err, plain_.err);
    const Files files = steady_files_in(place_);
    for (const auto& [name, bytes] : after_) {
      EXPECT_TRUE(files.contains(name) && files.at(name) == bytes) << name;
    }
    EXPECT_EQ(files.size(), after_.size());
  }
  void expect_refused(const Ended& ended, const Fault& fault) const;
  void expect_whole_files(const Fault& fault) const;
  void expect_clean_failure(const Ended& ended, const Fault& fault) const;

  TempDir dir_;
  std::string place_ = dir_.file("place");
  std::vector<std::string> words_ = words_of(GetParam().words);
  Files inputs_;
  Files before_;
  Files after_;  // of a run without faults
  Ended plain_;  // that run
  std::vector<SystemCall> calls_;
  bool may_trace_ = true;
};

// One sentence after the notes of a plain run, which names the file and the reason.
void CommandsInTrouble::expect_refused(const Ended& ended, const Fault& fault) const {
  std::vector<std::string> lines = lines_of(ended.err);
  std::erase_if(lines,
                [](const std::string& line) { return line.starts_with("heaptape: note: "); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("heaptape: "));
  if (!fault.call.is_in_directory()) return;
  const auto says = [&line = lines[0]](const std::string& part) {
    return line.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(file_of(fault.call)) || says("out.")) << fault.call.file;
  // A manifest is not known for one if the first look at it failed.
  EXPECT_TRUE(says(fault.reason) || says("is damaged") || says("breaks off") ||
              says("is the manifest"))
      << fault.reason;
  for (const auto& [name, bytes] : before_) {
    if (name.starts_with("out.") && says("'" + name + "'")) {
      EXPECT_EQ(read_bytes(place_ + "/" + name), bytes) << name;
    }
  }
}

// Each is what it was or what it should be. A tape that was cut short can be recovered.
void CommandsInTrouble::expect_whole_files(const Fault& fault) const {
  for (const auto& [name, bytes] : steady_files_in(place_)) {
    const auto old = before_.find(name);
    const auto whole = after_.find(name);
    if ((old != before_.end() && bytes == old->second) ||
        (whole != after_.end() && bytes == whole->second))
      continue;
    const bool is_degraded = fault.call.program == "heaptape*" || !fault.call.is_in_directory();
    if (is_degraded && whole != after_.end() && bytes.size() > whole->second.size() / 4) continue;
    const bool could_not_remove =
        fault.call.name == "unlink" && name.find(".partial") != std::string::npos;
    if (could_not_remove) continue;
    if (fault.call.name == "read" && name == "out.tape") continue;  // of a trace that breaks off
    EXPECT_EQ(name, "out.tape.partial");
    const auto tape =
        schema::TapeReader::open(place_ + "/" + name, schema::TapeReader::OnDamage::kSkip);
    EXPECT_TRUE(tape.ok()) << tape.error().message;
  }
}

void CommandsInTrouble::expect_clean_failure(const Ended& ended, const Fault& fault) const {
  EXPECT_EQ(ended.signal, 0);
  EXPECT_FALSE(ended.timed_out);
  EXPECT_LE(ended.status, 2);
  const bool is_noted = ended.err.size() > plain_.err.size();
  if (ended.status == 2) {
    expect_refused(ended, fault);
  } else if (ended.status == 0 && fault.call.name != "unlink" && !is_noted &&
             fault.call.is_in_directory()) {
    expect_the_same(ended);
  }
  expect_whole_files(fault);
}

TEST_P(CommandsInTrouble, DoTheSameWhenCallsAreInterruptedOrShort) {
  if (!may_trace_) GTEST_SKIP() << "may not trace";
  for (const char* kind : {"interrupt", "short"}) {
    SCOPED_TRACE(kind);
    const Traced traced = run_with({kind});
    EXPECT_NE(traced.failed_calls, 0u);
    expect_the_same(traced.ended);
  }
}

TEST_P(CommandsInTrouble, SayWhatFailedAndLeaveWholeFiles) {
  if (!may_trace_) GTEST_SKIP() << "may not trace";
  std::vector<Fault> faults = faults_of(calls_, kMostFaults);
  std::ranges::move(full_disks(calls_), std::back_inserter(faults));
  if (std::string_view(GetParam().name) == "import") {  // in the middle of what it reads
    faults.push_back({{"heaptape", "read", "~/in.txt"}, 3, "EIO", strerror(EIO)});
  }
  uint64_t failed_calls = 0;
  for (const Fault& fault : faults) {
    const Traced traced = run_with({fault.text()});
    SCOPED_TRACE(fault.text() + ": " + traced.ended.describe());
    failed_calls += traced.failed_calls;
    if (traced.failed_calls != 0) expect_clean_failure(traced.ended, fault);
  }
  EXPECT_NE(failed_calls, 0u);
}

// Quotas of NFS, say.
TEST_P(CommandsInTrouble, NoticeWhatOnlyACloseTells) {
  if (!may_trace_) GTEST_SKIP() << "may not trace";
  for (const auto& [name, bytes] : after_) {
    if (!name.starts_with("out.")) continue;
    const Fault fault{
        {"heaptape", "close", "~/" + name + ".partial"}, 1, "EDQUOT", strerror(EDQUOT), true};
    const Traced traced = run_with({fault.text()});
    SCOPED_TRACE(fault.text() + ": " + traced.ended.describe());
    EXPECT_NE(traced.failed_calls, 0u);
    EXPECT_EQ(traced.ended.status, 2);
    expect_refused(traced.ended, fault);
    expect_whole_files(fault);
  }
}

TEST_P(CommandsInTrouble, NoticeThatTheirOutputIsLost) {
  if (!may_trace_) GTEST_SKIP() << "may not trace";
  if (plain_.out.empty()) return;
  const Traced traced = run_with({"EIO 1 - heaptape write /memfd:stdout (deleted)"});
  SCOPED_TRACE(traced.ended.describe());
  EXPECT_NE(traced.failed_calls, 0u);
  EXPECT_EQ(traced.ended.status, 2);
  EXPECT_NE(traced.ended.err.find("heaptape: cannot write to standard output\n"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, CommandsInTrouble, testing::ValuesIn(kSubjects),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace heaptape::tests
