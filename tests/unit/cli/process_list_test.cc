#include "cli/process_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::cli {
namespace {

constexpr uint64_t kMiB = 1 << 20;

schema::ManifestProcess process(const std::string& tape, uint32_t pid, const std::string& program,
                                const std::string& title, uint64_t events, uint64_t anonymous,
                                std::optional<uint64_t> of_malloc) {
  schema::ManifestProcess made{.tape = tape,
                               .pid = pid,
                               .parent_pid = 1,
                               .executable = "/bin/" + program,
                               .command_line = {},
                               .events = events,
                               .ended = "exited",
                               .title = title};
  if (anonymous != 0) {
    made.largest_sample = schema::ProcessSample{0, 0, anonymous * kMiB, {}, {of_malloc, 0, 0, 0}};
    if (of_malloc) made.largest_sample->parts.malloc_bytes = *of_malloc * kMiB;
  }
  return made;
}

// sh, which starts sort and postgres, and then becomes the server.
schema::Manifest sample() {
  schema::Manifest manifest;
  manifest.command = {"sh", "-c", "..."};
  manifest.processes = {
      process("run.tape", 7, "sh", "sh -c sort; server", 50, 0, {}),
      process("run.8.sort.tape", 8, "sort", "sort /etc/passwd", 900, 9, 5),
      process("run.9.postgres.tape", 9, "postgres", "postgres: walwriter", 20, 90, 4),
      process("run.7.server.tape", 7, "server", "server --port 1", 400, 8, {}),
  };
  manifest.unrecorded = {{"/bin/busybox", "statically linked", 3, {}},
                         {"/bin/ruff", "has jemalloc inside", 1, {"jemalloc"}}};
  return manifest;
}

std::vector<std::string> tapes(const ProcessFilter& filter) {
  schema::Manifest manifest = sample();
  select(manifest, filter);
  std::vector<std::string> names;
  for (const auto& one : manifest.processes) names.push_back(one.tape.substr(4));
  return names;
}

using Names = std::vector<std::string>;

TEST(ProcessList, IsInTheOrderAskedFor) {
  EXPECT_EQ(tapes({}), (Names{"7.server.tape", "8.sort.tape", "9.postgres.tape", "tape"}));
  EXPECT_EQ(tapes({ProcessOrder::kCalls, 0, ""}),
            (Names{"8.sort.tape", "7.server.tape", "tape", "9.postgres.tape"}));
  EXPECT_EQ(tapes({ProcessOrder::kPid, 0, ""}),
            (Names{"tape", "7.server.tape", "8.sort.tape", "9.postgres.tape"}));
  EXPECT_EQ(tapes({ProcessOrder::kTitle, 0, ""}),
            (Names{"9.postgres.tape", "7.server.tape", "tape", "8.sort.tape"}));
}

TEST(ProcessList, LeavesOutWhatIsNotAskedFor) {
  EXPECT_EQ(tapes({ProcessOrder::kPid, 50, ""}), (Names{"tape", "7.server.tape", "8.sort.tape"}));
  EXPECT_EQ(tapes({ProcessOrder::kPid, 51, ""}), (Names{"7.server.tape", "8.sort.tape"}));
  EXPECT_EQ(tapes({ProcessOrder::kPid, 0, "walwriter"}), Names{"9.postgres.tape"});
  EXPECT_EQ(tapes({ProcessOrder::kPid, 0, "/bin/sort"}), Names{"8.sort.tape"});
  EXPECT_EQ(tapes({ProcessOrder::kPid, 0, "run.8."}), Names{"8.sort.tape"});
  EXPECT_TRUE(tapes({ProcessOrder::kPid, 0, "nothing"}).empty());
}

TEST(ProcessListTable, SaysWhatTheCommandBecameAndWhatWasNotRecorded) {
  EXPECT_EQ(successors_of_command(sample()), std::vector<size_t>{3});
  schema::Manifest selected = sample();
  select(selected, {ProcessOrder::kPid, 51, ""});
  EXPECT_EQ(
      process_table(selected, sample(), SIZE_MAX),
      "command    sh -c ...\n"
      "processes  4, 2 of them below\n"
      "\n"
      "  title             process  anonymous    malloc  beside malloc  calls  lost  parent   ended"
      "               tape\n"
      "* server --port 1         7   8.00 MiB         -              -    400     0       1  exited"
      "  run.7.server.tape\n"
      "  sort /etc/passwd        8   9.00 MiB  5.00 MiB       4.00 MiB    900     0       1  exited"
      "    run.8.sort.tape\n"
      "*: what the command became. Memory: the highest sample, of malloc and beside it\n"
      "not recorded: 3 x /bin/busybox (statically linked)\n"
      "not seen in full: 1 x /bin/ruff (has jemalloc inside)\n");
}

TEST(ProcessListTable, SaysWhatTheCommandBecameLast) {
  schema::Manifest manifest = sample();
  manifest.processes[2].pid = 7;  // sh, postgres, server
  EXPECT_EQ(successors_of_command(manifest), std::vector<size_t>{3});
  manifest.processes[3].pid = 10;
  EXPECT_EQ(successors_of_command(manifest), std::vector<size_t>{2});
  manifest.processes[2].pid = 9;
  EXPECT_EQ(successors_of_command(manifest), std::vector<size_t>{0});
}

TEST(ProcessListTable, TellsIntervalsApart) {
  schema::Manifest manifest = sample();
  manifest.processes.resize(2);
  manifest.processes.push_back(
      process("run.interval-2.tape", 7, "server", "server --port 1", 400, 8, {}));
  manifest.processes.back().interval = 2;
  EXPECT_EQ(successors_of_command(manifest), (std::vector<size_t>{0, 2}));
  EXPECT_TRUE(
      process_table(manifest, manifest, SIZE_MAX)
          .starts_with("command    sh -c ...\n"
                       "tapes      3\n"
                       "\n"
                       "  title               process  interval  anonymous    malloc  beside malloc"
                       "  calls  lost  parent   ended                 tape\n"
                       "* sh -c sort; server        7         1          -         -              -"
                       "     50     0       1  exited             run.tape\n"
                       "  sort /etc/passwd          8         1   9.00 MiB  5.00 MiB       4.00 MiB"
                       "    900     0       1  exited      run.8.sort.tape\n"
                       "* server --port 1           7         2   8.00 MiB         -              -"
                       "    400     0       1  exited  run.interval-2.tape\n"))
      << process_table(manifest, manifest, SIZE_MAX);
}

TEST(ProcessListTable, OfOneThatWasNotSampledHasDashes) {
  schema::Manifest selected = sample();
  select(selected, {ProcessOrder::kPid, 0, "sh -c"});
  const std::string text = process_table(selected, sample(), SIZE_MAX);
  EXPECT_NE(text.find("  sh -c sort; server        7          -       -              -     50"),
            std::string::npos)
      << text;
}

TEST(ProcessListTable, FitsANarrowTerminal) {
  schema::Manifest all = sample();
  for (auto& one : all.processes) one.title += std::string(100, 'x') + "\xc3\xa4";
  std::istringstream lines(process_table(all, all, 100));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(ProcessListTable, IsFitToPrint) {
  schema::Manifest all = sample();
  for (auto& one : all.processes) {
    for (std::string* text : {&one.title, &one.tape, &one.ended}) *text += "\x1b[2J\n";
  }
  all.unrecorded[0].program = all.unrecorded[1].reason = "\x1b[2J\n";
  const std::string text = process_table(all, all, SIZE_MAX);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 11) << text;
}

TEST(ProcessListTable, HasTheCommandLineOfOneWithoutATitle) {
  schema::Manifest all = sample();
  all.processes[0].title = "";
  all.processes[0].command_line = {"sh", "-e"};
  EXPECT_NE(process_table(all, all, SIZE_MAX).find("  sh -e "), std::string::npos);
}

// Two of 100 bytes at most and 60 at the end, and one of 500 and 0; the tape of the fourth is gone.
class CountedLiveBytes : public testing::Test {
 protected:
  CountedLiveBytes() {
    const auto write = [this](const std::string& name, const std::vector<schema::Event>& events) {
      tests::write_tape(dir_.file(name), events);
    };
    for (const char* const name : {"run.tape", "run.7.server.tape"}) {
      write(name, {tests::malloc_event(60, 1), tests::malloc_event(40, 2), tests::free_event(2)});
    }
    write("run.8.sort.tape", {tests::malloc_event(500, 1), tests::free_event(1)});
  }
  schema::Manifest count(const ProcessFilter& filter) {
    schema::Manifest manifest = sample();
    are_all_known_ =
        count_live_bytes(manifest, filter, dir_.file("run.tape.manifest.json"), console_);
    return manifest;
  }

  tests::TempDir dir_;
  bool are_all_known_ = false;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(CountedLiveBytes, AreInTheTableAndItsOrder) {
  schema::Manifest all = count({});
  schema::Manifest selected = all;
  select(selected, {});
  EXPECT_EQ(process_table(selected, all, 86),
            "command    sh -c ...\n"
            "processes  4\n"
            "\n"
            "  title                process  peak live  live at end  anonymous    malloc  calls\n"
            "  sort /etc/passwd           8      500 B          0 B   9.00 MiB  5.00 MiB    900\n"
            "  sh -c sort; server         7      100 B         60 B          -         -     50\n"
            "* server --port 1            7      100 B         60 B   8.00 MiB         -    400\n"
            "  postgres: walwriter        9          -            -   90.0 MiB  4.00 MiB     20\n"
            "... and 5 columns more: --wide shows all\n"
            "*: what the command became. Memory: the highest sample, of malloc and beside it\n"
            "not recorded: 3 x /bin/busybox (statically linked)\n"
            "not seen in full: 1 x /bin/ruff (has jemalloc inside)\n");
}

TEST_F(CountedLiveBytes, AreInTheManifestAsJson) {
  const schema::Manifest all = count({});
  const auto read = schema::parse_manifest("x", *schema::to_json(all));
  ASSERT_TRUE(read.ok());
  ASSERT_TRUE(read->processes[0].live && read->processes[1].live);
  EXPECT_EQ(read->processes[0].live->peak, 100u);
  EXPECT_EQ(read->processes[0].live->end, 60u);
  EXPECT_EQ(read->processes[1].live->end, 0u);
  EXPECT_FALSE(read->processes[2].live);
  EXPECT_EQ(schema::to_json(sample())->find("\"live\""), std::string::npos);
}

TEST_F(CountedLiveBytes, AreCountedOnlyForWhatIsListed) {
  const schema::Manifest all = count({{}, 100, "server"});
  EXPECT_TRUE(all.processes[3].live);
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(all.processes[i].live) << i;
  EXPECT_TRUE(are_all_known_);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CountedLiveBytes, AreInNoOtherOrderThanTheOneAskedFor) {
  schema::Manifest selected = count({});
  select(selected, {ProcessOrder::kPid, 0, ""});
  EXPECT_EQ(selected.processes[1].tape, "run.7.server.tape");
}

TEST_F(CountedLiveBytes, AreNotKnownWhereTheTapeCannotBeRead) {
  tests::write_bytes(dir_.file("run.8.sort.tape"), "no tape");
  const schema::Manifest all = count({});
  EXPECT_FALSE(all.processes[1].live);
  EXPECT_TRUE(all.processes[3].live);
  EXPECT_FALSE(are_all_known_);
  const std::string said = err_.str();
  EXPECT_TRUE(said.starts_with("heaptape: the live bytes are not known of process 8: ")) << said;
  EXPECT_TRUE(said.ends_with("; nor of 1 more\n")) << said;
}

TEST_F(CountedLiveBytes, OfATapeThatIsGoneAreSaidToBeUnknownOnce) {
  count({{}, 0, "walwriter"});
  EXPECT_FALSE(are_all_known_);
  EXPECT_NE(err_.str().find("of process 9: cannot open '"), std::string::npos) << err_.str();
  EXPECT_EQ(err_.str().find("more"), std::string::npos) << err_.str();
}

class ChosenTape : public testing::Test {
 protected:
  ChosenTape() { write(sample()); }
  void write(const schema::Manifest& manifest) {
    tests::write_bytes(dir_.file("run.tape.manifest.json"), *schema::to_json(manifest));
  }
  std::string chosen(const std::string& process) {
    const auto tape = choose_tape(dir_.file("run.tape.manifest.json"), process, console_);
    return tape.ok() ? tape->substr(dir_.path().string().size() + 1) : tape.error().message;
  }

  tests::TempDir dir_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(ChosenTape, HasMostMemoryOfMalloc) {
  EXPECT_EQ(chosen(""), "run.7.server.tape");
  EXPECT_NE(err_.str().find("of 4 processes: server --port 1, the largest"), std::string::npos)
      << err_.str();
}

TEST_F(ChosenTape, IsThatOfTheProcess) {
  EXPECT_EQ(chosen("9"), "run.9.postgres.tape");
  EXPECT_EQ(err_.str().find("the largest"), std::string::npos) << err_.str();
  EXPECT_EQ(chosen("7"), "run.7.server.tape");
  EXPECT_EQ(chosen("walwriter"), "run.9.postgres.tape");
  EXPECT_EQ(chosen("sh"), "run.tape");
}

// Larger ones have it in their titles and names.
TEST_F(ChosenTape, IsThatOfTheProgramOrThePidBeforeOthersWithTheText) {
  schema::Manifest manifest = sample();
  manifest.processes[3].title = "server for sort";
  manifest.processes[3].pid = 77;
  write(manifest);
  EXPECT_EQ(chosen("sort"), "run.8.sort.tape");
  EXPECT_EQ(chosen("7"), "run.tape");
}

TEST_F(ChosenTape, IsAskedForInVain) {
  EXPECT_NE(chosen("1").find("is '1': `heaptape info` lists them"), std::string::npos);
  EXPECT_NE(chosen("nothing").find("is 'nothing': "), std::string::npos);
  write({});
  EXPECT_NE(chosen("").find("no process of "), std::string::npos) << chosen("");
}

TEST_F(ChosenTape, IsInNoOtherDirectory) {
  schema::Manifest manifest = sample();
  for (const std::string name : {"../run.tape", "..", ".", ""}) {
    for (auto& one : manifest.processes) one.tape = name;
    write(manifest);
    EXPECT_NE(chosen("").find("does not name a tape beside it"), std::string::npos) << chosen("");
  }
}

TEST_F(ChosenTape, IsTheTapeItselfIfOneIsGiven) {
  tests::write_bytes(dir_.file("x.tape"), "anything");
  EXPECT_EQ(*choose_tape(dir_.file("x.tape"), "", console_), dir_.file("x.tape"));
  EXPECT_NE(choose_tape(dir_.file("x.tape"), "7", console_)
                .error()
                .message.find("--process chooses a tape of a manifest"),
            std::string::npos);
}

}  // namespace
}  // namespace heaptape::cli
