// Services as docs/howto-production.md records them: daemons, prefork servers, crashes, restarts.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "tests/e2e/record_fixture.h"
#include "tests/support/command.h"

namespace heaptape::tests {
namespace {

namespace fs = std::filesystem;

class Services : public RecordTest {
 protected:
  // As a supervisor is: PostgreSQL does not start while the process before it is not waited for.
  Services() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Services() override {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  // `heaptape exec` with a name that each start has for itself.
  Words service_words(const Words& command, const std::string& keep) const {
    Words words = as_user({heaptape_path(), "exec", "-o", dir_.file("%n.%p.tape")});
    words.insert(words.end(), {"--keep-last", keep, "--"});
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  // The same by another user, if there is one.
  Words as_user(Words words) const {
    if (user_ == 0) return words;
    const std::string id = std::to_string(user_);
    words.insert(words.begin(),
                 {"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups", "--"});
    return words;
  }
  Ended run_as_user(const Words& words) const { return run_command(as_user(words)); }
  std::string tape_of_start(const Command& start, const std::string& name) const {
    return dir_.file(name + "." + std::to_string(start.pid()) + ".tape");
  }
  // Once the recorder has written all, which is after the last process.
  schema::Manifest manifest_of(const std::string& tape) const {
    const std::string path = tape + ".manifest.json";
    EXPECT_TRUE(wait_until([&path] { return fs::exists(path); }, 60)) << path;
    auto manifest = schema::read_manifest(path);
    EXPECT_TRUE(manifest.ok()) << manifest.error().message;
    return manifest.ok() ? std::move(*manifest) : schema::Manifest();
  }
  // The tape of the last program of that process.
  std::string tape_of(const schema::Manifest& manifest, int pid) const {
    std::string tape;
    for (const schema::ManifestProcess& process : manifest.processes) {
      if (process.pid == static_cast<uint32_t>(pid)) tape = process.tape;
    }
    EXPECT_NE(tape, "") << "of process " << pid;
    return dir_.file(tape);
  }
  void expect_whole(const schema::Manifest& manifest) const {
    for (const schema::ManifestProcess& process : manifest.processes) {
      EXPECT_TRUE(verifies(dir_.file(process.tape)));
      EXPECT_EQ(process.ended.find("running"), std::string::npos) << process.title;
    }
  }
  std::vector<std::string> copies(int number) const { return files_with(copy_end(number)); }
  static std::string copy_of(const std::string& tape, int number) {
    return tape.substr(0, tape.rfind(".tape")) + copy_end(number);
  }
  // `heaptape ctl flush`; there are as many copies as are said at least, and all are whole.
  void flush(int pid, size_t processes, int number = 1) const {
    const Ended ended = run_as_user({heaptape_path(), "ctl", std::to_string(pid), "flush"});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    const std::vector<std::string> written = copies(number);
    EXPECT_GE(written.size(), processes);
    for (const std::string& copy : written) EXPECT_TRUE(verifies(copy));
  }
  // Blocks that `path` asks for, of `least` to 1,000 bytes more.
  size_t blocks_from(const std::string& path, uint64_t least) const {
    const auto events = read_tape(path).events;
    return static_cast<size_t>(std::ranges::count_if(events, [least](const schema::Event& event) {
      return schema::op_info(event.op).kind != schema::OpKind::kRelease && event.size >= least &&
             event.size <= least + 1000;
    }));
  }
  std::vector<std::string> files_with(const std::string& end) const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      if (entry.path().native().ends_with(end)) files.push_back(entry.path());
    }
    return files;
  }
  static std::string copy_end(int number) { return ".flush-" + std::to_string(number) + ".tape"; }
  // All that was recorded so far.
  std::map<std::string, std::string> recorded_files() const {
    std::map<std::string, std::string> files;
    for (const char* const end : {".tape", ".json"}) {
      for (const std::string& file : files_with(end)) files[file] = read_bytes(file);
    }
    return files;
  }
  void expect_unchanged(const std::map<std::string, std::string>& files) const {
    EXPECT_GT(files.size(), 1u);
    for (const auto& [file, bytes] : files) EXPECT_TRUE(read_bytes(file) == bytes) << file;
    EXPECT_GT(recorded_files().size(), files.size());
    EXPECT_EQ(files_with(".partial").size(), 0u);
  }
  static void crash(int daemon) {
    kill(daemon, SIGKILL);
    waitpid(daemon, nullptr, 0);
  }
  // A number at the beginning of the file; 0 if there is none.
  static int pid_in(const std::string& path) {
    int pid = 0;
    std::ifstream(path) >> pid;
    return pid;
  }

  unsigned user_ = 0;  // 0: that of the test
};

class RedisService : public Services {
 protected:
  void SetUp() override {
    if (run_command({"redis-server", "--version"}).status != 0 ||
        run_command({"redis-cli", "--version"}).status != 0) {
      GTEST_SKIP() << "redis-server is not installed";
    }
  }
  void TearDown() override {
    if (pid() > 0 && !has_ended_) crash(pid());
  }

  int pid() const { return pid_in(dir_.file("pid")); }
  Ended ask(const Words& request, const std::string& input = "") const {
    Words words = {"redis-cli", "-s", dir_.file("socket")};
    words.insert(words.end(), request.begin(), request.end());
    return run_command({.words = words, .input = input});
  }
  // By its own command, which ends when the daemon is there. Returns the tape of that command.
  std::string start(const std::string& keep) {
    fs::remove(dir_.file("pid"));
    Command command({.words = service_words(
                         {"redis-server", "--daemonize", "yes", "--port", "0", "--unixsocket",
                          dir_.file("socket"), "--pidfile", dir_.file("pid"), "--dir",
                          dir_.path().string(), "--logfile", dir_.file("log"), "--save", ""},
                         keep)});
    const Ended ended = command.wait();
    EXPECT_EQ(ended.status, 0) << ended.describe();
    EXPECT_TRUE(wait_until([this] { return ask({"ping"}).out == "PONG\n"; }));
    has_ended_ = false;
    return tape_of_start(command, "redis-server");
  }
  void set(const std::string& key, size_t bytes) const {
    EXPECT_EQ(ask({"-x", "set", key}, std::string(bytes, 'x')).out, "OK\n");
  }
  void set_many() const {
    std::string commands;
    for (int i = 0; i < 2000; ++i) commands += "SET key" + std::to_string(i) + " " + "value\n";
    EXPECT_EQ(lines_of(ask({}, commands).out).size(), 2000u);
  }

  bool has_ended_ = true;
};

TEST_F(RedisService, LeavesItsLastCallsWhenItIsKilled) {
  constexpr size_t kBefore = 7'000, kAfter = 9'000;
  for (const char* const keep : {"64MiB", "100ms"}) {
    const auto earlier = recorded_files();
    const std::string tape = start(keep);
    set_many();
    set("before", kBefore);
    flush(pid(), 1);
    set("after", kAfter);
    const int killed = pid();
    crash(killed);
    has_ended_ = true;
    const schema::Manifest manifest = manifest_of(tape);
    EXPECT_EQ(manifest.processes.size(), 2u);
    expect_whole(manifest);
    EXPECT_GT(blocks_from(tape_of(manifest, killed), kAfter), 0u);
    EXPECT_GT(blocks_from(tape_of(manifest, killed), kBefore), 0u) << "it lives";
    // There is another of the first process, if that had not ended for the recorder by then.
    const std::string copy = copy_of(tape_of(manifest, killed), 1);
    EXPECT_FALSE(earlier.contains(copy));
    EXPECT_GT(blocks_from(copy, kBefore), 0u);
    EXPECT_EQ(blocks_from(copy, kAfter), 0u);
    if (!earlier.empty()) expect_unchanged(earlier);
  }
}

TEST_F(RedisService, IsRecordedToItsEnd) {
  const std::string tape = start("1h");
  set_many();
  const int daemon = pid();
  EXPECT_EQ(ask({"shutdown", "nosave"}).status, 0);
  has_ended_ = true;
  const schema::Manifest manifest = manifest_of(tape);
  expect_whole(manifest);
  const Tape recorded = read_tape(tape_of(manifest, daemon), schema::Inherited::kJoin);
  EXPECT_GT(recorded.events.size(), 10'000u);
  EXPECT_EQ(walk_heap(recorded.events).unknown_frees, 0u);
}

class PostgresqlService : public Services {
 protected:
  void SetUp() override {
    find_programs();
    if (programs_.empty() || run_command({"psql", "--version"}).status != 0) {
      GTEST_SKIP() << "postgresql is not installed";
    }
    if (is_root()) user_ = 65534;  // it refuses to run as root
    fs::permissions(dir_.path(), fs::perms::all);
    if (run_as_user({heaptape_path(), "--version"}).status != 0) {
      GTEST_SKIP() << "nobody may not run heaptape";
    }
    const Ended made = run_as_user({programs_ + "initdb", "-D", data(), "-U", "service", "-A",
                                    "trust", "--no-sync", "--locale=C"});
    ASSERT_EQ(made.status, 0) << made.describe();
  }
  void TearDown() override {
    if (fs::exists(data() + "/postmaster.pid")) control({"stop", "-m", "immediate"});
  }

  std::string data() const { return dir_.file("data"); }
  int pid() const { return pid_in(data() + "/postmaster.pid"); }
  Words control_words(const Words& command) const {
    Words words = {programs_ + "pg_ctl", "-D", data(), "-w", "-l", dir_.file("log")};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  Ended control(const Words& command) const { return run_as_user(control_words(command)); }
  // Returns the tape of the command that starts it.
  std::string start(const std::string& keep) const {
    const std::string options =
        "-k " + dir_.path().string() + " -c listen_addresses='' -c fsync=off";
    Command command({.words = service_words(control_words({"-o", options, "start"}), keep)});
    const Ended ended = command.wait();
    EXPECT_EQ(ended.status, 0) << ended.describe() << read_bytes(dir_.file("log"));
    return tape_of_start(command, "pg_ctl");
  }
  Words query_words(const std::string& query) const {
    return {"psql", "-qAt", "-h", dir_.path().string(), "-U", "service", "-c", query, "postgres"};
  }
  std::string ask(const std::string& query) const {
    const Ended ended = run_command(query_words(query));
    return ended.status == 0 ? ended.out : ended.describe();
  }
  // The pid of the process that sleeps; 0 if there is none.
  int sleeper() const {
    return std::atoi(ask("select pid from pg_stat_activity where wait_event = 'PgSleep'").c_str());
  }

  std::string programs_;  // their directory

 private:
  // Those of the newest, beside which Debian has other versions.
  void find_programs() {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", none)) {
      const std::string programs = entry.path() / "bin/";
      if (fs::exists(programs + "pg_ctl")) programs_ = std::max(programs_, programs);
    }
  }
};

TEST_F(PostgresqlService, LeavesTheLastCallsOfAllItsProcesses) {
  const std::string tape = start("64MiB");
  EXPECT_EQ(ask("create table t as select i, md5(i::text) from generate_series(1, 20000) i; "
                "select count(*) from t a join t b using (md5)"),
            "20000\n");
  flush(pid(), 4);
  // A process that is killed: the others start again.
  constexpr int kBytes = 3'456'789;
  Command query(
      {.words = query_words("select repeat('x', " + std::to_string(kBytes) + "), pg_sleep(60)")});
  ASSERT_TRUE(wait_until([this] { return sleeper() > 0; }));
  const int killed = sleeper();
  kill(killed, SIGKILL);
  EXPECT_NE(query.wait().status, 0);
  EXPECT_TRUE(wait_until([this] { return ask("select count(*) from t") == "20000\n"; }));
  flush(pid(), 4, 2);
  const int master = pid();
  crash(master);
  const schema::Manifest manifest = manifest_of(tape);
  expect_whole(manifest);
  EXPECT_GT(blocks_from(tape_of(manifest, killed), kBytes), 0u);
  EXPECT_GT(read_tape(tape_of(manifest, master)).events.size(), 5'000u);

  const auto files = recorded_files();
  const std::string next = start("10m");
  EXPECT_EQ(ask("select count(*) from t"), "20000\n");
  EXPECT_EQ(control({"stop", "-m", "fast"}).status, 0);
  expect_whole(manifest_of(next));
  expect_unchanged(files);
}

class PreforkServer : public Services {
 protected:
  static constexpr size_t kWorkers = 3;
  static constexpr uint64_t kLastBlock = 889;

  Words server() const { return {target_path("prefork"), std::to_string(kWorkers)}; }
  // Waits until it has said so many workers in all; the pid of the last one.
  static int await_workers(Command& command, size_t count) {
    std::vector<std::string> lines;
    EXPECT_TRUE(wait_until([&] { return (lines = lines_of(command.output())).size() >= count; }));
    return lines.empty() ? 0 : std::stoi(lines.back().substr(lines.back().find(' ')));
  }
  void expect_last_call(const schema::Manifest& manifest, int worker) const {
    const Tape tape = read_tape(tape_of(manifest, worker));
    ASSERT_FALSE(tape.events.empty());
    EXPECT_EQ(tape.events.back().size, kLastBlock);
    EXPECT_EQ(walk_heap(tape.events).doubly_given, 0u);
  }
};

TEST_F(PreforkServer, KeepsTheLastCallsOfItsWorkers) {
  for (const char* const keep : {"1MiB", "64MiB", "10m"}) {
    SCOPED_TRACE(keep);
    const auto earlier = recorded_files();
    Command command({.words = service_words(server(), keep)});
    const int first = await_workers(command, kWorkers);
    kill(first, SIGKILL);
    const int second = await_workers(command, kWorkers + 1);
    flush(command.pid(), kWorkers + 1);
    command.send(SIGKILL);
    EXPECT_EQ(command.wait().signal, SIGKILL);
    const schema::Manifest manifest = manifest_of(tape_of_start(command, "prefork"));
    EXPECT_EQ(manifest.processes.size(), kWorkers + 2);
    expect_whole(manifest);
    expect_last_call(manifest, first);
    expect_last_call(manifest, second);
    if (!earlier.empty()) expect_unchanged(earlier);
  }
}

// As servers do that read their configuration again.
TEST_F(PreforkServer, IsRecordedWhenItStartsAnewInItsProcess) {
  Command command({.words = service_words(server(), "64MiB")});
  const int first = await_workers(command, kWorkers);
  command.send(SIGHUP);
  const int second = await_workers(command, 2 * kWorkers);
  command.send(SIGTERM);
  const Ended ended = command.wait();
  EXPECT_EQ(ended.status, 0) << ended.describe();
  const schema::Manifest manifest = manifest_of(tape_of_start(command, "prefork"));
  EXPECT_EQ(manifest.processes.size(), 2 * (kWorkers + 1));
  expect_whole(manifest);
  expect_last_call(manifest, first);
  expect_last_call(manifest, second);
  const std::string again = tape_of(manifest, command.pid());
  EXPECT_NE(again, tape_of_start(command, "prefork"));
  EXPECT_EQ(read_tape(again).frees_of(5003), 1u);
}

}  // namespace
}  // namespace heaptape::tests
