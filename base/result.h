// Result<T>: a value, or an Error that says what went wrong, where in the file, and what to do. For
// files, processes and the command line; see "Errors" in CONTRIBUTING.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace heaptape::base {

enum class ErrorCode : uint8_t {
  kUsage,         // the caller's input is wrong: an option, a metric name, an allocator
  kNotFound,      // a file or program does not exist
  kIo,            // the operating system refused
  kNoSpace,       // a disk or shared memory is full
  kForeign,       // not one of our files
  kNewerVersion,  // one of ours, but from a newer major version
  kDamaged,       // one of ours, with wrong or missing bytes
  kTarget,        // the recorded or replayed program cannot be used, or failed
};

// Errors of the operating system come from os_error.
struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;                       // one sentence: what, where, what to do next
  std::optional<uint64_t> byte_offset = {};  // in the file that `message` names
  std::optional<uint64_t> event = {};        // of the tape, from 1, where a replay ended

  static Error usage(std::string message) { return {ErrorCode::kUsage, std::move(message)}; }
  static Error not_found(std::string message) { return {ErrorCode::kNotFound, std::move(message)}; }
  static Error foreign(std::string message) { return {ErrorCode::kForeign, std::move(message)}; }
  static Error newer_version(std::string message) {
    return {ErrorCode::kNewerVersion, std::move(message)};
  }
  static Error damaged(std::string message) { return {ErrorCode::kDamaged, std::move(message)}; }
  static Error target(std::string message) { return {ErrorCode::kTarget, std::move(message)}; }

  // The same error, at this event.
  Error at_event(uint64_t number) && {
    event = number;
    return std::move(*this);
  }
  // The same error, at this place of its file.
  Error at(uint64_t offset) && {
    byte_offset = offset;
    return std::move(*this);
  }
};

// Holds either a T or an Error. Reading the wrong one is a bug of ours.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: so is an error

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() {
    HEAPTAPE_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  const T& value() const {
    HEAPTAPE_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    HEAPTAPE_CHECK(!ok());
    return *std::get_if<Error>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: an error is a result

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    HEAPTAPE_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

// "what: strerror(errno_value)": kNoSpace for ENOSPC, EDQUOT and EFBIG, kNotFound for ENOENT and
// ENOTDIR, else kIo.
Error os_error(const std::string& what, int errno_value);

}  // namespace heaptape::base

// Returns the error of `expression` from the enclosing function, if it has one.
#define HEAPTAPE_RETURN_IF_ERROR(expression) \
  do {                                       \
    auto heaptape_status = (expression);     \
    if (!heaptape_status.ok()) [[unlikely]]  \
      return heaptape_status.error();        \
  } while (false)

#define HEAPTAPE_CONCAT_INNER(a, b) a##b
#define HEAPTAPE_CONCAT(a, b) HEAPTAPE_CONCAT_INNER(a, b)

// HEAPTAPE_ASSIGN_OR_RETURN(auto reader, TapeReader::open(path));
#define HEAPTAPE_ASSIGN_OR_RETURN(declaration, expression) \
  HEAPTAPE_ASSIGN_OR_RETURN_AS(HEAPTAPE_CONCAT(heaptape_result_, __LINE__), declaration, expression)
#define HEAPTAPE_ASSIGN_OR_RETURN_AS(name, declaration, expression) \
  auto name = (expression);                                         \
  if (!name.ok()) [[unlikely]]                                      \
    return name.error();                                            \
  declaration = std::move(*name)
