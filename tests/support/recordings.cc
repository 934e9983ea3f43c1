#include "tests/support/recordings.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

uint64_t events_of(const std::string& path) {
  const auto tape = schema::TapeReader::open(path);
  EXPECT_TRUE(tape.ok()) << tape.error().message;
  return tape.ok() ? tape->events() : 0;
}

}  // namespace

std::string record(const TempDir& dir, const std::vector<std::string>& words,
                   const std::vector<std::string>& environment, std::string* output) {
  CommandLine command{.words = {"heaptape", "record", "--force", "-o", dir.file("r.tape"), "--"},
                      .environment = environment};
  command.words.insert(command.words.end(), words.begin(), words.end());
  const Ended outcome = run(command);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  if (output != nullptr) *output = outcome.out;
  std::string largest;
  uint64_t most_events = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    if (entry.path().extension() != ".tape") continue;
    if (const uint64_t events = events_of(entry.path()); events >= most_events) {
      most_events = events;
      largest = entry.path();
    }
  }
  EXPECT_GT(most_events, 0u) << "nothing was recorded";
  return largest;
}

schema::ReportFigures replay_report(const TempDir& dir, const std::string& tape,
                                    const std::vector<std::string>& specs,
                                    const std::vector<std::string>& options) {
  const std::string path = dir.file("report.json");
  std::vector<std::string> words = {"heaptape", "replay", tape, "-o", path};
  for (const std::string& spec : specs) words.insert(words.end(), {"-a", spec});
  words.insert(words.end(), options.begin(), options.end());
  const Ended outcome = run(words);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  auto report = schema::read_figures(path);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return report.ok() ? std::move(*report) : schema::ReportFigures();
}

schema::RunFigures replay_run(const TempDir& dir, const std::string& tape, const std::string& spec,
                              const std::vector<std::string>& options) {
  auto report = replay_report(dir, tape, {spec}, options);
  return report.runs.empty() ? schema::RunFigures() : std::move(report.runs[0]);
}

uint64_t count_of(const schema::RunFigures& run, const std::string& metric) {
  const auto value = run.metric(metric);
  EXPECT_TRUE(value.has_value()) << "no " << metric << " in the run " << run.label;
  return value ? static_cast<uint64_t>(schema::number_of(*value)) : UINT64_MAX;
}

double ratio_of(const schema::RunFigures& run, const std::string& metric) {
  const auto value = run.metric(metric);
  EXPECT_TRUE(value.has_value()) << "no " << metric << " in the run " << run.label;
  return value ? static_cast<double>(schema::number_of(*value)) : -1;
}

uint64_t json_number(const std::string& json, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  const size_t at = json.find(key);
  EXPECT_NE(at, std::string::npos) << "no " << name;
  if (at == std::string::npos) return UINT64_MAX;
  const size_t digits = json.find_first_of("0123456789", at + key.size());
  return std::stoull(json.substr(digits));
}

}  // namespace heaptape::tests
