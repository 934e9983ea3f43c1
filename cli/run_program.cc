#include "cli/run_program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>

#include "base/descriptor.h"
#include "base/number_text.h"
#include "cli/console.h"

namespace heaptape::cli {
namespace {

// If a standard stream is closed, the next file opened gets its number, and everything printed
// would go there. So /dev/null takes the free numbers: read-only, and closed in children.
void keep_standard_descriptors() {
  base::Descriptor null;
  do {
    null.release();  // stays open in the place of a standard stream
    null.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (null && null.get() <= STDERR_FILENO);
}

// Memory can run out because the address space is limited: model:ptmalloc reserves 32 GiB of it and
// fills little.
std::string address_space_advice() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return ": raise the limit on address space (ulimit -v), which is " +
         base::bytes_text(limit.rlim_cur) +
         "; model:ptmalloc and the models built on it reserve 32 GiB";
}

}  // namespace

int run_program(int argc, const char* const* argv, const Program& program) {
  keep_standard_descriptors();
  Console console = Console::standard();
  const Action action = parse_command_line(argc, argv, program);
  try {
    return action(console);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more elements than memory can hold
  }
  return console.fail("there is not enough memory for this command" + address_space_advice());
}

}  // namespace heaptape::cli
