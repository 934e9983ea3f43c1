#include "replayer/sites/wrappers.h"

#include <algorithm>
#include <string_view>

#include "replayer/sites/short_name.h"

namespace heaptape::replayer {
namespace {

using std::string_view;

// Also after one of the beginnings: xmalloc, __libc_malloc, zrealloc, _rjem_mallocx.
constexpr string_view kFunctions[] = {
    "malloc",         "calloc",           "realloc",         "reallocarray",    "aligned_alloc",
    "posix_memalign", "memalign",         "valloc",          "pvalloc",         "mallocx",
    "rallocx",        "xallocx",          "mallocz",         "strdup",          "strndup",
    "memdup",         "memdupz",          "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
    "pymalloc_alloc", "pymalloc_realloc", "gc_alloc"};
constexpr string_view kBeginnings[] = {"__GI___libc_", "__GI___", "__GI_", "__libc_", "__",
                                       "_rjem_",       "_",       "je_",   "mi_",     "tc_",
                                       "ruby_x",       "x",       "z"};
// Beginnings of the names of functions that hand out memory, in this order: C++ and Rust; glib;
// CPython; SQLite; OpenSSL; redis; perl.
constexpr string_view kAllocatorBeginnings[] = {"operator new",
                                                "__rust_",
                                                "__rustc",
                                                "__rdl_",
                                                "__rg_",
                                                "g_malloc",
                                                "g_realloc",
                                                "g_try_malloc",
                                                "g_try_realloc",
                                                "g_aligned_alloc",
                                                "g_strdup",
                                                "g_strndup",
                                                "g_memdup",
                                                "g_slice_",
                                                "g_rc_box_",
                                                "g_atomic_rc_box_",
                                                "PyMem_",
                                                "_PyMem_",
                                                "_PyObject_GC_",
                                                "_PyObject_New",
                                                "PyType_GenericAlloc",
                                                "PyType_GenericNew",
                                                "_PyType_AllocNoTrack",
                                                "_PyObject_Arena",
                                                "sqlite3Malloc",
                                                "sqlite3_malloc",
                                                "sqlite3Realloc",
                                                "sqlite3_realloc",
                                                "sqlite3MemMalloc",
                                                "sqlite3MemRealloc",
                                                "sqlite3DbMalloc",
                                                "sqlite3DbRealloc",
                                                "sqlite3DbStrDup",
                                                "sqlite3DbStrNDup",
                                                "sqlite3DbSpanDup",
                                                "dbMallocRaw",
                                                "dbReallocFinish",
                                                "mallocWithAlarm",
                                                "CRYPTO_malloc",
                                                "CRYPTO_zalloc",
                                                "CRYPTO_realloc",
                                                "CRYPTO_clear_realloc",
                                                "CRYPTO_strdup",
                                                "CRYPTO_strndup",
                                                "CRYPTO_memdup",
                                                "zmalloc_",
                                                "zcalloc_",
                                                "zrealloc_",
                                                "ztrymalloc",
                                                "ztrycalloc",
                                                "ztryrealloc",
                                                "Perl_safesys"};
// Beginnings of function names in the C++ libraries.
constexpr string_view kLibraryBeginnings[] = {"std::", "__gnu_cxx::", "__cxxabiv1::"};
// For Rust only: C++ programs have namespaces with these names.
constexpr string_view kRustBeginnings[] = {"alloc::", "core::", "hashbrown::"};
// "<str as alloc::string::ToString>::to_string": code of the library for any type.
constexpr string_view kRustTrait = " as alloc::";
// Beginnings of module names, without their directory.
constexpr string_view kModules[] = {"libstdc++.so", "libc++.so",   "libc++abi.so", "libjemalloc",
                                    "libmimalloc",  "libtcmalloc", "libsnmalloc",  "libheaptape"};

// Parts of source file names: inlined functions may come without their namespace.
constexpr string_view kFolders[] = {"/include/c++/", "/rustc/"};

template <typename List>
bool any_begins(const List& list, string_view text) {
  return std::ranges::any_of(list, [text](string_view part) { return text.starts_with(part); });
}

bool is_listed_function(string_view name) {
  name = name.substr(0, name.find('.'));  // "xmalloc.part.0"
  if (std::ranges::find(kFunctions, name) != std::end(kFunctions)) return true;
  return std::ranges::any_of(kBeginnings, [name](string_view beginning) {
    return name.starts_with(beginning) &&
           std::ranges::find(kFunctions, name.substr(beginning.size())) != std::end(kFunctions);
  });
}

// Rust has "<alloc::vec::Vec<T> as core::clone::Clone>::clone".
string_view without_brackets(string_view name) {
  const size_t begin = name.find_first_not_of("<&");
  return begin == name.npos ? name : name.substr(begin);
}

// Demangled C++ functions have them, Rust's do not.
bool has_parameters(string_view function) {
  const string_view name = plain_name(function);
  const auto end = static_cast<size_t>(name.data() - function.data()) + name.size();
  return function.substr(end).starts_with('(');
}

bool is_of_rust_library(string_view function, string_view name) {
  if (has_parameters(function)) return false;
  return any_begins(kRustBeginnings, name) ||
         (function.starts_with('<') && function.find(kRustTrait) != function.npos);
}

}  // namespace

bool is_allocation_function(const SourceFrame& source) {
  const string_view name = plain_name(source.function);
  return is_listed_function(name) || any_begins(kAllocatorBeginnings, name);
}

bool is_allocation_wrapper(const CodePlace& place, const SourceFrame* source) {
  const string_view module = place.module;
  if (any_begins(kModules, module.substr(module.find_last_of('/') + 1))) return true;
  if (source == nullptr) return false;
  if (is_allocation_function(*source)) return true;
  const string_view name = without_brackets(plain_name(source->function));
  return any_begins(kLibraryBeginnings, name) || is_of_rust_library(source->function, name) ||
         std::ranges::any_of(kFolders, [source](string_view folder) {
           return source->file.find(folder) != std::string::npos;
         });
}

}  // namespace heaptape::replayer
