// The one place where exceptions of Cap'n Proto (kj) become a Result. Everything in this folder
// that builds, reads or prints a Cap'n Proto message does so inside guard_kj.
#pragma once

#include <kj/exception.h>

#include <string>
#include <type_traits>
#include <utility>

#include "schema/result.h"

namespace heaptape::schema {

// Calls `body`, which returns a Result; a kj exception becomes `code` with "what: <kj's text>".
template <typename Body>
std::invoke_result_t<Body> guard_kj(ErrorCode code, const std::string& what, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const kj::Exception& exception) {
    return Error{code, what + ": " + exception.getDescription().cStr(), std::nullopt};
  }
}

}  // namespace heaptape::schema
