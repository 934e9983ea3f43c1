#include "replayer/sites/wrappers.h"

#include <algorithm>
#include <string_view>

#include "replayer/sites/plain_name.h"

namespace heaptape::replayer {
namespace {

using std::string_view;

// Behind "__libc_", "__", "_" and "x" as well: xmalloc, __libc_malloc, _PyMem_Malloc.
constexpr string_view kFunctions[] = {
    "malloc",         "calloc",   "realloc",         "reallocarray",    "aligned_alloc",
    "posix_memalign", "memalign", "valloc",          "pvalloc",         "strdup",
    "strndup",        "memdup",   "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc"};
constexpr string_view kBeginnings[] = {"__libc_", "__", "_", "x"};

// Of names of functions.
constexpr string_view kFunctionBeginnings[] = {
    "operator new", "std::",         "__gnu_cxx::", "__cxxabiv1::", "__rust_",  "__rdl_",
    "__rg_",        "g_malloc",      "g_realloc",   "g_try_malloc", "g_strdup", "g_memdup",
    "g_slice_",     "g_try_realloc", "PyMem_",      "_PyMem_"};

// Of Rust alone: C++ programs have namespaces of these names.
constexpr string_view kRustBeginnings[] = {"alloc::", "core::", "hashbrown::"};

// Of names of modules, without their folder.
constexpr string_view kModules[] = {"libstdc++.so", "libc++.so",   "libc++abi.so", "libjemalloc",
                                    "libmimalloc",  "libtcmalloc", "libsnmalloc",  "libheaptape"};

// Parts of names of source files: functions that the compiler put in line may come without their
// namespace.
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

// As functions of C++ have them when they are demangled, and those of Rust do not.
bool has_parameters(string_view function) {
  const string_view name = plain_name(function);
  const auto end = static_cast<size_t>(name.data() - function.data()) + name.size();
  return function.substr(end).starts_with('(');
}

}  // namespace

bool is_allocation_wrapper(const CodePlace& place, const SourceFrame* source) {
  const string_view module = place.module;
  if (any_begins(kModules, module.substr(module.find_last_of('/') + 1))) return true;
  if (source == nullptr) return false;
  const string_view name = without_brackets(plain_name(source->function));
  return is_listed_function(name) || any_begins(kFunctionBeginnings, name) ||
         (any_begins(kRustBeginnings, name) && !has_parameters(source->function)) ||
         std::ranges::any_of(kFolders, [source](string_view folder) {
           return source->file.find(folder) != std::string::npos;
         });
}

}  // namespace heaptape::replayer
