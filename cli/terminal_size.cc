#include "cli/terminal_size.h"

#include <sys/ioctl.h>

#include <cstdint>
#include <cstdlib>

#include "base/quantity.h"

namespace heaptape::cli {
namespace {

constexpr TerminalSize kUsualSize{24, 80};

int number_in_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  const uint64_t number = text == nullptr ? 0 : base::parse_count(text).value_or(0);
  return number > 0 && number < 10'000 ? static_cast<int>(number) : otherwise;
}

}  // namespace

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  ioctl(descriptor, TIOCGWINSZ, &size);
  return {size.ws_row != 0 ? size.ws_row : number_in_environment("LINES", kUsualSize.rows),
          size.ws_col != 0 ? size.ws_col : number_in_environment("COLUMNS", kUsualSize.columns)};
}

}  // namespace heaptape::cli
