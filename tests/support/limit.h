// Lowers a limit of this process and of its children.
#pragma once

#include <sys/resource.h>

namespace heaptape::tests {

// Lowers the soft limit while it lives.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit lowered = {value, before_.rlim_max};
    setrlimit(resource_, &lowered);
  }
  ~Limit() { setrlimit(resource_, &before_); }

 private:
  __rlimit_resource resource_;
  rlimit before_;
};

}  // namespace heaptape::tests
