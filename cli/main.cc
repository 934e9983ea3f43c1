// heaptape.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <iostream>
#include <new>
#include <stdexcept>
#include <string>

#include "cli/command_line.h"
#include "cli/console.h"

namespace {

namespace cli = heaptape::cli;

// A file that is opened while standard input, output or error is closed would get its number, and
// what is printed would go into the file. What this opens takes no output, and no child sees it.
void keep_standard_descriptors() {
  int fd;
  do {
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

// A limit of it may be what there is too little of: model:ptmalloc alone reserves 32 GiB, and does
// not fill them.
std::string address_space_advice() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return ": raise the limit of address space (ulimit -v), of which model:ptmalloc and what stands "
         "on it reserve 32 GiB";
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  const cli::Action action = cli::parse_command_line(argc, argv);
  try {
    return action();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more elements than any memory holds
  }
  return cli::complain(std::cerr,
                       "there is not enough memory for this tape" + address_space_advice());
}
