#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <ostream>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "recorder/collector/recording.h"

namespace heaptape::cli {
namespace {

constexpr size_t kMaxListed = 12;

// The tapes of a recording, the one with most events marked: on a terminal only, so that what the
// program printed stays as it was.
void print_summary(const recorder::Recording& recording, const std::string& manifest_path) {
  const auto& processes = recording.manifest.processes;
  const auto largest = std::ranges::max_element(processes, {}, &schema::ManifestProcess::events);
  std::fprintf(stderr, "heaptape: recorded %zu process%s\n", processes.size(),
               processes.size() == 1 ? "" : "es");
  const std::string folder = std::filesystem::path(manifest_path).parent_path();
  size_t listed = 0;
  for (auto process = processes.begin(); process != processes.end(); ++process) {
    if (++listed > kMaxListed && process != largest) continue;
    const auto path = std::filesystem::path(folder) / process->tape;
    std::fprintf(stderr, "  %c %12llu events %12llu bytes  %s\n", process == largest ? '*' : ' ',
                 static_cast<unsigned long long>(process->events),
                 static_cast<unsigned long long>(process->bytes), path.c_str());
  }
  if (processes.size() > kMaxListed) {
    std::fprintf(stderr, "    and more, all listed in %s\n", manifest_path.c_str());
  }
}

void report(const recorder::Recording& recording, const recorder::RecordOptions& options,
            std::ostream& err) {
  for (const std::string& failure : recording.failures) complain(err, failure);
  uint64_t lost = 0;
  for (const auto& process : recording.manifest.processes) lost += process.lost_events;
  if (lost != 0 && recording.failures.empty()) {
    complain(err,
             std::to_string(lost) + " calls were lost; `heaptape info` tells of which process");
  }
  if (recording.manifest.processes.empty()) {
    complain(err,
             "'" + options.command[0] + "' made no call to malloc that could be seen; no tape");
    return;
  }
  const std::string manifest_path = options.tape_path + ".manifest.json";
  const auto manifest = schema::to_json(recording.manifest);
  const auto status =
      manifest.ok() ? base::write_file(manifest_path, *manifest) : base::Status(manifest.error());
  if (!status.ok()) complain(err, status.error());
  if (isatty(STDERR_FILENO)) print_summary(recording, manifest_path);
}

}  // namespace

int run_record(const recorder::RecordOptions& given, std::ostream& err) {
  recorder::RecordOptions options = given;
  if (options.tape_path.empty()) {
    options.tape_path = std::filesystem::path(options.command[0]).filename().string() + ".tape";
  }
  const recorder::RecorderSignals signals;
  const auto recording = recorder::record(options, signals);
  if (!recording.ok()) return complain(err, recording.error());
  report(*recording, options, err);
  recorder::end_like(recording->target_end);
}

}  // namespace heaptape::cli
