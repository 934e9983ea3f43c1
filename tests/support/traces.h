// Traces of other tools for tests, and the tapes made from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recorder/import/import_trace.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

enum class Packing : uint8_t { kPlain, kGzip, kZstd, kXz, kBzip2, kZip };

// The bytes of a file containing `content`. A zip has a file for each of `names`.
std::string packed(const std::string& content, Packing packing,
                   const std::vector<std::string>& names = {"trace.txt"});

// Integers of binary traces, in x86-64 byte order.
template <typename Integer>
std::string raw_bytes(Integer value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// Imports traces into its own directory.
class TraceImporter {
 public:
  base::Result<recorder::ImportResult> try_import(const std::string& format,
                                                  const std::string& bytes);
  // Fails the test on an error.
  recorder::ImportResult import(const std::string& format, const std::string& bytes);

  // The resulting tape, as in `heaptape dump` except for the numbers: "t0 malloc(24) = 0x10".
  std::string calls() const;
  std::string tape() const { return dir_.file("tape"); }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

}  // namespace heaptape::tests
