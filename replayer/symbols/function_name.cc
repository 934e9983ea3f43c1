#include "replayer/symbols/function_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace heaptape::replayer {
namespace {

constexpr size_t kHashDigits = 16;

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// "_ZN4core3fmt17h0123456789abcdefE": the last part is a hash.
bool is_rust(std::string_view linkage_name) {
  constexpr std::string_view kBeforeHash = "17h";
  const size_t tail = kBeforeHash.size() + kHashDigits + 1;
  if (!linkage_name.starts_with("_ZN") || linkage_name.size() < tail + 3) return false;
  const std::string_view end = linkage_name.substr(linkage_name.size() - tail);
  const std::string_view hash = end.substr(kBeforeHash.size(), kHashDigits);
  return end.starts_with(kBeforeHash) && end.back() == 'E' &&
         std::ranges::all_of(hash, is_hex_digit);
}

struct Escape {
  std::string_view code, text;
};

// rustc's escapes for what C++ names cannot have. If one begins with another, the longer is first.
constexpr std::array kEscapes = {
    Escape{"$SP$", "@"},  Escape{"$BP$", "*"},  Escape{"$RF$", "&"},  Escape{"$LT$", "<"},
    Escape{"$GT$", ">"},  Escape{"$LP$", "("},  Escape{"$RP$", ")"},  Escape{"$C$", ","},
    Escape{"$u20$", " "}, Escape{"$u27$", "'"}, Escape{"$u2b$", "+"}, Escape{"$u3b$", ";"},
    Escape{"$u3d$", "="}, Escape{"$u5b$", "["}, Escape{"$u5d$", "]"}, Escape{"$u7b$", "{"},
    Escape{"$u7d$", "}"}, Escape{"$u7e$", "~"}, Escape{"..", "::"},
};

std::string rust_name(std::string_view demangled) {
  demangled.remove_suffix(std::string_view("::h").size() + kHashDigits);
  std::string name;
  while (!demangled.empty()) {
    const auto* const escape = std::ranges::find_if(
        kEscapes, [&](const Escape& candidate) { return demangled.starts_with(candidate.code); });
    if (escape != kEscapes.end()) {
      name += escape->text;
      demangled.remove_prefix(escape->code.size());
      continue;
    }
    const bool is_filler = demangled.starts_with("_$") && (name.empty() || name.ends_with("::"));
    if (!is_filler) name += demangled.front();
    demangled.remove_prefix(1);
  }
  return name;
}

}  // namespace

std::string function_name(const std::string& linkage_name) {
  struct Freeing {
    void operator()(char* text) const { std::free(text); }
  };
  std::string bare = linkage_name.substr(0, linkage_name.find('@'));
  if (!bare.starts_with("_Z")) return bare;
  int status = 0;
  const std::unique_ptr<char, Freeing> text(
      abi::__cxa_demangle(bare.c_str(), nullptr, nullptr, &status));
  if (text == nullptr) return bare;
  return is_rust(bare) ? rust_name(text.get()) : text.get();
}

}  // namespace heaptape::replayer
