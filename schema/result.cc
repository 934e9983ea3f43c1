#include "schema/result.h"

#include <cerrno>
#include <cstring>

namespace heaptape::schema {

Error os_error(const std::string& what, int errno_value) {
  ErrorCode code = ErrorCode::kIo;
  if (errno_value == ENOENT || errno_value == ENOTDIR) code = ErrorCode::kNotFound;
  if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG) {
    code = ErrorCode::kNoSpace;
  }
  return {code, what + ": " + std::strerror(errno_value), std::nullopt};
}

}  // namespace heaptape::schema
