#include "allocators/commit_rule.h"

#include "base/check.h"
#include "base/number_text.h"

namespace heaptape::allocators {

std::string text_of(const CommitRule& rule) {
  std::string text;
  if (rule.words == nullptr) return text;
  size_t next = 0;
  for (const char* c = rule.words; *c != 0; ++c) {
    if (*c != '%') {
      text += *c;
      continue;
    }
    HEAPTAPE_CHECK(next < rule.numbers.size());
    text += base::grouped(rule.numbers[next++]);
  }
  return text;
}

}  // namespace heaptape::allocators
