#include "recorder/collector/recording.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <latch>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/output_file.h"
#include "recorder/collector/elf_check.h"
#include "recorder/collector/handshake_server.h"
#include "recorder/collector/service_thread.h"
#include "recorder/collector/session_users.h"
#include "recorder/collector/target.h"
#include "recorder/ring/handshake.h"

namespace heaptape::recorder {
namespace {

// Room for a tape of a few events: its header, one chunk, its end.
constexpr uint64_t kLeastTapeBytes = 64 << 10;

// The socket, the shared memory's three, the service thread's two, a client, a tape and its
// process, and a file in /proc.
constexpr size_t kLeastDescriptors = 10;

// Our first one, two for the tapes, one each for the services, for /proc and for the rings, and the
// program.
constexpr size_t kLeastThreads = 7;  // one more looks at memory, if it is to be looked at

// Tries to write the tape before anything runs, so that a wrong name or a full disk is an error and
// not a loss.
Result<base::OutputFile> check_output(const std::string& path, const std::string& program,
                                      bool overwrites) {
  if (base::same_file(path, program)) {
    return Error::usage("'" + path + "' is the program to record: write the tape to another file");
  }
  if (base::is_written_directly(path)) {
    return Error::usage("cannot record to '" + path +
                        "', which is not a regular file: a recording puts a manifest and the tapes "
                        "of child processes beside it; name a file in a directory");
  }
  for (const std::string& earlier : {path, path + kManifestSuffix}) {
    std::error_code ignored;
    if (overwrites || !std::filesystem::is_regular_file(earlier, ignored)) continue;
    return Error::usage("'" + earlier + "' exists: give another name with -o, or --force to " +
                        "write over it");
  }
  HEAPTAPE_ASSIGN_OR_RETURN(base::OutputFile probe,
                            base::OutputFile::create(path, base::OutputFile::IfAbandoned::kKeep));
  HEAPTAPE_RETURN_IF_ERROR(probe.reserve(kLeastTapeBytes));
  return probe;
}

// The same of a name that is free.
Result<base::OutputFile> open_interval(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(base::OutputFile file,
                            base::OutputFile::create(path, base::OutputFile::IfAbandoned::kRemove));
  HEAPTAPE_RETURN_IF_ERROR(file.reserve(kLeastTapeBytes));
  return file;
}

// The empty partial file that check_output() leaves: until the first process has its tape, which
// goes into it, it shows that there was a recording, even of a recorder that was killed, and is
// locked against others. Removes it if there was no process.
class Beginning {
 public:
  explicit Beginning(std::string path) : path_(std::move(path)) {}
  ~Beginning() { base::remove_empty_partial(path_); }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

 private:
  const std::string path_;
};

// Tries to open as many descriptors as a recording needs: one that ran out of them half-way would
// leave the program unrecorded.
base::Status check_descriptors() {
  std::vector<base::Descriptor> spare;
  while (spare.size() < kLeastDescriptors) {
    base::Descriptor copy(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!copy && errno != EMFILE) return {};  // standard error may be closed
    if (!copy) {
      return base::os_error("a recording needs " + std::to_string(kLeastDescriptors) +
                                " descriptors; raise the limit on open files (ulimit -n)",
                            errno);
    }
    spare.push_back(std::move(copy));
  }
  return {};
}

// Starts as many threads as a recording needs, its program counted as one: if they were missing
// later, the program would run unrecorded.
base::Status check_threads() {
  std::latch over(1);
  std::vector<std::jthread> spare;
  const auto end = [&over] { over.wait(); };
  try {
    while (1 + spare.size() < kLeastThreads) spare.emplace_back(end);
  } catch (const std::system_error& error) {
    over.count_down();
    return base::os_error("a recording needs " + std::to_string(kLeastThreads) +
                              " threads, its program included; raise the limit on processes or "
                              "on address space (ulimit -u, -v)",
                          error.code().value());
  }
  over.count_down();
  return {};
}

// Each recorded process takes three descriptors of ours. The program has started with its own
// limit.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Processes that are neither on a tape nor in the manifest, by the reason.
using UnrecordedProcesses = std::map<std::string, uint64_t>;

// Adds a sentence for each reason that has more of them than were `told` before.
void note_unrecorded_processes(const Pools& pools, const HandshakeServer& server,
                               UnrecordedProcesses& told, std::vector<std::string>& failures) {
  const auto note = [&](uint64_t all, const std::string& reason) {
    const uint64_t before = std::exchange(told[reason], all);
    if (all <= before) return;
    const uint64_t processes = all - before;
    failures.push_back(
        (processes == 1 ? "1 process was" : std::to_string(processes) + " processes were") +
        " not recorded: " + reason);
  };
  const Lobby& lobby = pools.session().lobby();
  note(pools.unmapped(), "the recorder had no room to map the memory of their calls");
  note(lobby.filtered, "forked under a system call filter");
  note(lobby.turned_away, "there were more at one time than can share the memory of their calls");
  note(server.given_up() + pools.never_joined(),
       "gone before the recorder answered (it may have been stopped or overloaded)");
  note(server.of_other_builds(),
       std::string("the ") + kPreloadName + " there is from a different build of heaptape");
  note(server.distrusting(),
       "the user of this recorder is unknown there, as in a user namespace that does not map it");
}

Result<Target> start(const RecordOptions& options, const TargetEnvironment& environment,
                     const RecorderSignals& signals) {
  if (options.background != nullptr) return options.background->start_parent(environment);
  HEAPTAPE_ASSIGN_OR_RETURN(
      const int pid, start_target(options.command, environment, signals, target_group(options)));
  return Target{.pid = pid};
}

}  // namespace

Result<RecordingExit> record(const RecordOptions& options, const RecorderSignals& signals) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string program, find_program(options.command[0]));
  HEAPTAPE_RETURN_IF_ERROR(check_recordable(program, options.command));
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string preload_library, find_preload_library());
  std::optional<MemoryWatch> memory_watch;
  if (options.flush_at.any()) {
    HEAPTAPE_ASSIGN_OR_RETURN(memory_watch, MemoryWatch::open(options.flush_at));
  }
  HEAPTAPE_RETURN_IF_ERROR(check_descriptors());
  Beginning beginning(options.tape_path);
  HEAPTAPE_ASSIGN_OR_RETURN(base::OutputFile checked,
                            check_output(options.tape_path, program, options.overwrites));
  auto first_file = std::make_unique<base::OutputFile>(std::move(checked));
  std::shared_ptr<schema::WindowFile> window_file;  // null: the last calls are kept in memory
  if (options.keeps_on_disk) {
    HEAPTAPE_ASSIGN_OR_RETURN(window_file, schema::WindowFile::create(options.tape_path));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const auto memory, SessionMemory::create(options.session));
  HEAPTAPE_RETURN_IF_ERROR(check_threads());
  std::unique_ptr<CodeTables> code;  // none: no stacks are recorded
  if (options.session.stack_frames != 0) {
    const bool all = options.session.stack_bytes == 0;
    HEAPTAPE_ASSIGN_OR_RETURN(code,
                              CodeTables::create(options.session.unwinding,
                                                 all ? kHasteForAllStacks : kHasteForSomeStacks));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const auto server, HandshakeServer::open(code.get()));
  server->name_tape(options.tape_path);
  const bool is_child = options.background == nullptr;
  const SessionUsers users(memory->files().lobby, server->session_value());
  const auto has_users = [&] {
    return options.session.follow != Follow::kNone && users.any();  // else forks have it in vain
  };
  std::atomic<int> signal_target = SignalForwarder::kNobody;
  MemoryAlarm* alarm = nullptr;  // set before the collector runs
  std::function<void(std::vector<uint32_t>)> on_pids;
  if (memory_watch) {
    on_pids = [&alarm](std::vector<uint32_t> pids) { alarm->set_pids(std::move(pids)); };
  }
  std::unique_ptr<Collector> made;
  try {
    made = std::make_unique<Collector>(
        *memory, *server,
        CollectorOptions{
            .tape_path = options.tape_path,
            .command = options.command,
            .start_after = options.start_after,
            .bounds = options.bounds,
            .keep_last = options.keep_last,
            .window_file = std::move(window_file),
            .on_pids = on_pids,
            .waits_for_all = options.waits_for_all,
            .has_users = has_users,
            .on_long_life = is_child ? std::function<void()>() : Background::leave_standard_error,
            .watcher = options.watcher,
            .backlog_bytes = options.backlog_bytes,
            .rest_watcher = options.rest_watcher,
            .on_target_end =
                [&] {
                  if (is_child) signal_target = 0;
                },
            .first_file = std::move(first_file),
            .overwrites = options.overwrites,
            .open_interval =
                [&options](const std::string& path) {
                  auto file = open_interval(path);
                  if (!file.ok() && options.on_error) options.on_error(file.error());
                  return file;
                }});
  } catch (const std::system_error& error) {
    return base::os_error("cannot start a thread", error.code().value());
  }
  Collector& collector = *made;
  // These two end before those that they call.
  HEAPTAPE_ASSIGN_OR_RETURN(const auto services, ServiceThread::open());
  std::optional<MemoryAlarm> memory_alarm;
  if (memory_watch) {
    try {
      alarm = &memory_alarm.emplace(std::move(*memory_watch), [&collector] { collector.flush(); });
    } catch (const std::system_error& error) {
      return base::os_error("cannot start a thread", error.code().value());
    }
  }
  const bool adopts = is_child && options.waits_for_all;
  if (adopts && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return base::os_error("cannot wait for all processes", errno);
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const Target target,
                            start(options, {preload_library, server->session_value()}, signals));
  raise_descriptor_limit();
  if (is_child) signal_target = target.pid;
  services->start({*server,
                   memory->files(),
                   signal_target,
                   {options.detaches_on_interrupt, options.flush_signal},
                   [&collector] { collector.wake(); },
                   [&collector] { collector.interrupt(); },
                   [&collector] { collector.flush(); }});
  UnrecordedProcesses told;
  std::optional<Recording> last = collector.run(target);
  while (last && last->pauses) {
    note_unrecorded_processes(memory->pools(), *server, told, last->failures);
    if (options.on_pause) options.on_pause(*last);
    last = collector.run_again();
  }
  services->finish();
  const bool is_interrupted = collector.is_interrupted();  // also since the last interval
  if (adopts) prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);   // for those that run on
  if (last) note_unrecorded_processes(memory->pools(), *server, told, last->failures);
  return RecordingExit{std::move(last), collector.target_end(), is_interrupted};
}

}  // namespace heaptape::recorder
