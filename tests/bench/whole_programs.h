// Whole programs as benchmarks run them, and how long they take.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "tests/support/temp_dir.h"

namespace heaptape::bench {

using Command = std::vector<std::string>;

// Runs the command with its output thrown away; returns the seconds it took.
inline double run(const Command& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t pid = 0;
  HEAPTAPE_CHECK(posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0);
  int status = 0;
  waitpid(pid, &status, 0);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  posix_spawn_file_actions_destroy(&actions);
  HEAPTAPE_CHECK(status == 0);
  return elapsed.count();
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// A Python program that writes and reads 60,000 records of JSON, every object through malloc.
inline Command python_json(const tests::TempDir& dir) {
  std::ofstream(dir.file("records.py")) << R"(import json
records = [{"id": i, "name": "user%d" % i, "tags": ["a%d" % (i % 7), "b%d" % (i % 11)],
            "score": i * 1.5, "nested": {"x": i, "y": [i, i + 1]}} for i in range(60000)]
assert len(json.loads(json.dumps(records))) == 60000
)";
  setenv("PYTHONMALLOC", "malloc", 1);
  return {"/usr/bin/python3", dir.file("records.py")};
}

}  // namespace heaptape::bench
