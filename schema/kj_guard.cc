#include "schema/kj_guard.h"

#include "base/display_text.h"

namespace heaptape::schema {

std::string kj_reason(const kj::Exception& exception) {
  constexpr size_t kMaxBytes = 160;
  const kj::StringPtr description = exception.getDescription();
  std::string text(description.begin(), description.size());
  if (text.starts_with("expected ")) {
    const size_t end_of_condition = text.find("; ");
    if (end_of_condition != std::string::npos) text.erase(0, end_of_condition + 2);
  }
  if (text.size() > kMaxBytes) text = text.substr(0, kMaxBytes) + "...";
  while (text.ends_with('.') && !text.ends_with("...")) text.pop_back();
  return base::display_text(std::move(text));
}

}  // namespace heaptape::schema
