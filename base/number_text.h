// Numbers for people: 1,234,567; 12.3 MiB; 81.2 ns. ASCII only, so that a text's bytes are its
// columns. For tables; files for machines contain plain numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heaptape::base {

std::string grouped(uint64_t number);                    // "1,234,567"
std::string counted(uint64_t count, const char* thing);  // "1 block", "1,234 blocks"
std::string bytes_text(uint64_t bytes);  // "512 B", "12.3 MiB"; or "12,345,678 B", see below
// "12.3 MiB +- 0.8", in the unit of `bytes`; without the second part if `error` is 0.
std::string estimated_bytes_text(uint64_t bytes, uint64_t error);
std::string estimated_text(uint64_t count, uint64_t error);  // "1,234 +- 56"
std::string duration_text(double ns);                        // "81.2 ns", "1.50 ms"
std::string ratio_text(double ratio);                        // "0.1234"

// How bytes_text writes, in the whole process: a user's setting, like a locale. Must be set before
// there are other threads.
enum class BytesStyle : uint8_t { kScaled, kExact };
void set_bytes_style(BytesStyle style);

// Two digits for each byte: "00ff".
std::string hex_text(std::string_view bytes);

// `digits` of a whole number, with a comma before every three.
std::string grouped_digits(std::string digits);

// As printf; at most 127 characters.
__attribute__((format(printf, 1, 2))) std::string format_text(const char* pattern, ...);

}  // namespace heaptape::base
