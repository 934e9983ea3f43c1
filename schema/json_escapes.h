// The escapes of JSON text (RFC 8259, section 7) that the codec misreads: version 0.9.2 takes the
// hexadecimal digits a to f for 0 to 5 and makes each half of a surrogate pair a character.
#pragma once

#include <string>
#include <string_view>

namespace heaptape::schema {

// `json` with each \uXXXX inside a string in an equivalent form that the codec reads correctly:
// UTF-8, or another escape. A lone surrogate becomes U+FFFD, as in base::valid_utf8. Text that is
// not an escape stays unchanged, for the codec to refuse. One pass.
std::string without_unicode_escapes(std::string_view json);

}  // namespace heaptape::schema
