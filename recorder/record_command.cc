#include "recorder/record_command.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "recorder/collector/collector.h"
#include "recorder/collector/elf_check.h"
#include "recorder/collector/recorder_signals.h"
#include "schema/output_file.h"

namespace heaptape::recorder {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr size_t kMaxListed = 12;

void complain(const std::string& sentence) {
  std::fprintf(stderr, "heaptape: %s\n", sentence.c_str());
}

// The tapes of a recording, the one with most events marked: on a terminal only, so that what the
// program printed stays as it was.
void print_summary(const Recording& recording, const std::string& manifest_path) {
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

void report(const Recording& recording, const RecordOptions& options) {
  for (const std::string& failure : recording.failures) complain(failure);
  uint64_t lost = 0;
  for (const auto& process : recording.manifest.processes) lost += process.lost_events;
  if (lost != 0 && recording.failures.empty()) {
    complain(std::to_string(lost) + " calls were lost; `heaptape info` tells of which process");
  }
  if (recording.manifest.processes.empty()) {
    complain("'" + options.command[0] + "' made no call to malloc that could be seen; no tape");
    return;
  }
  const std::string manifest_path = options.tape_path + ".manifest.json";
  const auto manifest = to_json(recording.manifest);
  const auto status = manifest.ok() ? schema::write_file(manifest_path, *manifest)
                                    : schema::Status(manifest.error());
  if (!status.ok()) complain(status.error().message);
  if (isatty(STDERR_FILENO)) print_summary(recording, manifest_path);
}

// Room for a tape of a few events: its header, one chunk, its end.
constexpr uint64_t kLeastTapeBytes = 64 << 10;

// The socket, the shared memory, what wakes the doorman, a visitor, a tape and its process.
constexpr size_t kLeastDescriptors = 8;

// Whether the tape can be written, before anything runs, so that a wrong name or a full disk is an
// error and not a loss.
schema::Status check_output(const std::string& path) {
  if (schema::is_written_directly(path)) {
    return Error{ErrorCode::kUsage,
                 "cannot record to '" + path +
                     "', which is no file of its own: more tapes and a manifest are to stand "
                     "beside it; name a file in a folder",
                 std::nullopt};
  }
  HEAPTAPE_ASSIGN_OR_RETURN(
      schema::OutputFile probe,
      schema::OutputFile::create(path, schema::OutputFile::IfAbandoned::kRemove));
  return probe.reserve(kLeastTapeBytes);
}

// Whether what a recording opens at its start can be opened: one that fails half-way would leave
// the program unrecorded.
schema::Status check_descriptors() {
  std::vector<int> spare;
  while (spare.size() < kLeastDescriptors) {
    const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) break;
    spare.push_back(fd);
  }
  const int failure = errno;
  for (const int fd : spare) close(fd);
  if (spare.size() == kLeastDescriptors || failure != EMFILE) return {};
  return schema::os_error("a recording needs " + std::to_string(kLeastDescriptors) +
                              " descriptors; raise the limit on open files (ulimit -n)",
                          failure);
}

// Each recorded process takes two descriptors of ours. The target has its limit already.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

schema::Result<Recording> record(const RecordOptions& options, const RecorderSignals& signals) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string program, find_program(options.command[0]));
  HEAPTAPE_RETURN_IF_ERROR(check_recordable(program));
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string preload_library, find_preload_library());
  HEAPTAPE_RETURN_IF_ERROR(check_descriptors());
  HEAPTAPE_RETURN_IF_ERROR(check_output(options.tape_path));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto memory, SessionMemory::create(options.session));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto doorman, Doorman::open());
  HEAPTAPE_ASSIGN_OR_RETURN(const int target, start_target(options.command, preload_library,
                                                           doorman->session_value(), signals));
  raise_descriptor_limit();
  Collector collector(*memory, *doorman, {options.tape_path, options.command});
  doorman->start(
      memory->descriptor(), target,
      [](void* argument) { static_cast<Collector*>(argument)->wake(); }, &collector);
  Recording recording = collector.run(target);
  doorman->stop();
  return recording;
}

}  // namespace

int run_record(const RecordOptions& given) {
  RecordOptions options = given;
  if (options.tape_path.empty()) {
    options.tape_path = std::filesystem::path(options.command[0]).filename().string() + ".tape";
  }
  const RecorderSignals signals;
  const auto recording = record(options, signals);
  if (!recording.ok()) {
    complain(recording.error().message);
    return 2;
  }
  report(*recording, options);
  end_like(recording->target_end);
}

}  // namespace heaptape::recorder
