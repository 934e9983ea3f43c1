#include "recorder/collector/recording.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "base/output_file.h"
#include "recorder/collector/doorman.h"
#include "recorder/collector/elf_check.h"
#include "recorder/collector/target.h"

namespace heaptape::recorder {
namespace {

// Room for a tape of a few events: its header, one chunk, its end.
constexpr uint64_t kLeastTapeBytes = 64 << 10;

// The socket, the shared memory, what wakes the doorman, a visitor, a tape and its process.
constexpr size_t kLeastDescriptors = 8;

// Whether the tape can be written, before anything runs, so that a wrong name or a full disk is an
// error and not a loss.
base::Status check_output(const std::string& path) {
  if (base::is_written_directly(path)) {
    return Error::usage("cannot record to '" + path +
                        "', which is no file of its own: more tapes and a manifest are to stand "
                        "beside it; name a file in a folder");
  }
  HEAPTAPE_ASSIGN_OR_RETURN(base::OutputFile probe,
                            base::OutputFile::create(path, base::OutputFile::IfAbandoned::kRemove));
  return probe.reserve(kLeastTapeBytes);
}

// Whether what a recording opens at its start can be opened: one that fails half-way would leave
// the program unrecorded.
base::Status check_descriptors() {
  std::vector<int> spare;
  while (spare.size() < kLeastDescriptors) {
    const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) break;
    spare.push_back(fd);
  }
  const int failure = errno;
  for (const int fd : spare) close(fd);
  if (spare.size() == kLeastDescriptors || failure != EMFILE) return {};
  return base::os_error("a recording needs " + std::to_string(kLeastDescriptors) +
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

}  // namespace

Result<Recording> record(const RecordOptions& options, const RecorderSignals& signals) {
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

}  // namespace heaptape::recorder
