# Writes a C++ source with the parts of the page and their hashes for the page's policy. Run by the
# build: cmake -D OUT=... -D MARKUP=... -D NOTICES=... -D STYLES=a,b -D SCRIPTS=a,b -P
# embed_page.cmake. Each file stays one element, so that the page is as readable as its sources.

# The hash of `hex` digits, in base 64.
function(base64_of hex variable)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  # 64 digits: ten groups of six for four letters each, four for the last three.
  string(APPEND hex "00")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${hex}" ${at} 3 three)
    math(EXPR bits "0x${three}")
    math(EXPR first "${bits} >> 6")
    math(EXPR second "${bits} & 63")
    string(SUBSTRING "${alphabet}" ${first} 1 letter)
    string(APPEND text "${letter}")
    string(SUBSTRING "${alphabet}" ${second} 1 letter)
    string(APPEND text "${letter}")
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)  # 256 bits are 42 letters and two thirds
  set(${variable} "${text}=" PARENT_SCOPE)
endfunction()

# Declares kName with the bytes of a file, which must not contain the end of its element.
function(embed name file)
  file(READ "${file}" hex HEX)
  file(READ "${file}" text)
  string(TOLOWER "${text}" lower)
  foreach(bad "</script" "</style" "<!--" "<script" "sourcemappingurl")
    string(FIND "${lower}" "${bad}" at)
    if(NOT at EQUAL -1 AND NOT name STREQUAL "Markup" AND NOT name STREQUAL "Notices")
      message(FATAL_ERROR "${file} has '${bad}' in it: a page cannot hold that")
    endif()
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  file(APPEND "${OUT}" "constexpr unsigned char k${name}[] = {\n${bytes}0};\n")
endfunction()

# Embeds a list of parts.
function(embed_parts name files)
  set(rows "")
  set(number 0)
  foreach(file IN LISTS files)
    get_filename_component(file_name "${file}" NAME)
    set(part "${CMAKE_CURRENT_BINARY_DIR}/part_${file_name}")
    # The file that it names is missing.
    file(READ "${file}" text)
    string(REGEX REPLACE "(//|/\\*)# sourceMappingURL=[^\n* ]*( \\*/)?" "" text "${text}")
    file(WRITE "${part}" "${text}")
    embed("${name}${number}" "${part}")
    file(SHA256 "${part}" hex)
    base64_of("${hex}" hash)
    string(APPEND rows "    {\"${file_name}\", text(k${name}${number}), \"${hash}\"},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  file(APPEND "${OUT}" "const PagePart k${name}s[] = {\n${rows}};\n")
endfunction()

string(REPLACE "," ";" STYLES "${STYLES}")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
file(WRITE "${OUT}" "// Made by embed_page.cmake.
#include \"replayer/report/html/page_parts.h\"

#include <cstddef>

namespace heaptape::replayer {
namespace {

// Without the zero at the end.
template <size_t kBytes>
std::string_view text(const unsigned char (&bytes)[kBytes]) {
  return {reinterpret_cast<const char*>(bytes), kBytes - 1};
}

")
embed(Markup "${MARKUP}")
embed(Notices "${NOTICES}")
embed_parts(Style "${STYLES}")
embed_parts(Script "${SCRIPTS}")
file(APPEND "${OUT}" "
}  // namespace

std::span<const PagePart> page_styles() {
  return kStyles;
}
std::span<const PagePart> page_scripts() {
  return kScripts;
}
std::string_view page_markup() {
  return text(kMarkup);
}
std::string_view page_notices() {
  return text(kNotices);
}

}  // namespace heaptape::replayer
")
