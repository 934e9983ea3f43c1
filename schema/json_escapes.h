// The escapes of JSON text (RFC 8259, section 7) that the codec reads wrongly: version 0.9.2 takes
// the hexadecimal digits a to f for 0 to 5 and makes each half of a surrogate pair a character.
#pragma once

#include <string>
#include <string_view>

namespace heaptape::schema {

// `json` with each \uXXXX inside a string in the form that means the same to the codec: UTF-8, or
// another escape. A surrogate without its other half becomes U+FFFD, as in base::valid_utf8. What
// is no escape stays as it is, for the codec to refuse. One pass.
std::string without_unicode_escapes(std::string_view json);

}  // namespace heaptape::schema
