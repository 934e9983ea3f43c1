// The one place where exceptions of Cap'n Proto (kj) become a Result. It throws when memory runs
// out while it builds a message, when a text is too long for one, and on damage. So all code that
// builds, reads or prints a message does so inside guard_kj, and no kj exception leaves a public
// function unless its contract says so. tests/unit/schema/kj_guard_test.cc enforces this.
#pragma once

#include <kj/exception.h>

#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace heaptape::schema {

// kj's reason: without its leading C++ condition, without a full stop, on one line, and cut to a
// length that fits a message even if kj quotes the input.
std::string kj_reason(const kj::Exception& exception);

// Calls `body`, which returns a Result; a kj exception becomes `code` with "what: <kj's reason>".
template <typename Body>
std::invoke_result_t<Body> guard_kj(base::ErrorCode code, const std::string& what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const kj::Exception& exception) {
    return base::Error{code, what + ": " + kj_reason(exception)};
  }
}

}  // namespace heaptape::schema
