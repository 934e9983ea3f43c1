#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace heaptape::base {

Error os_error(const std::string& what, int errno_value) {
  ErrorCode code = ErrorCode::kIo;
  if (errno_value == ENOENT || errno_value == ENOTDIR) code = ErrorCode::kNotFound;
  if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG) {
    code = ErrorCode::kNoSpace;
  }
  return {code, what + ": " + std::strerror(errno_value)};
}

}  // namespace heaptape::base
