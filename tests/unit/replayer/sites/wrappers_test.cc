#include "replayer/sites/wrappers.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

bool function_is(const std::string& function) {
  const SourceFrame source{function, "app.cc", 1};
  return is_allocation_wrapper({"/opt/app", 1, {source}}, &source);
}
bool module_is(const std::string& module) {
  return is_allocation_wrapper({module, 1, {}}, nullptr);
}

TEST(AllocationWrappers, AreEntryPoints) {
  for (const char* name : {"malloc", "__libc_calloc", "operator new(unsigned long)",
                           "operator new[](unsigned long, std::nothrow_t const&)", "__strdup"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreThoseThatMakeMallocConvenient) {
  for (const char* name : {"xmalloc", "xrealloc.part.0", "g_malloc0_n", "PyMem_RawMalloc",
                           "_PyObject_Malloc", "__rust_alloc"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreThoseThatMakeObjectsOfPython) {
  for (const char* name : {"_PyObject_GC_New", "_PyObject_GC_NewVar", "_PyObject_GC_Resize",
                           "_PyObject_NewVar", "PyType_GenericAlloc", "PyType_GenericNew",
                           "_PyType_AllocNoTrack", "gc_alloc", "_PyMem_RawMalloc"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreThoseOfLibrariesInC) {
  for (const char* name :
       {"g_strndup", "g_aligned_alloc0", "g_rc_box_alloc_full", "sqlite3Malloc",
        "sqlite3DbMallocRawNN", "sqlite3_malloc64", "sqlite3DbStrNDup", "dbMallocRawFinish",
        "sqlite3MemRealloc", "mallocWithAlarm", "CRYPTO_zalloc", "zmalloc_usable", "ztrycalloc",
        "zrealloc", "Perl_safesysmalloc", "ruby_xcalloc"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreThoseOfAllocatorsThatAProgramHasInItself) {
  for (const char* name : {"je_malloc", "_rjem_mallocx", "_rjem_rallocx", "mi_calloc", "tc_realloc",
                           "__GI___libc_malloc"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreThoseOfRust) {
  for (const char* name :
       {"__rustc::__rust_alloc", "__rg_realloc", "alloc::alloc::exchange_malloc",
        "alloc::raw_vec::RawVec<T,A>::grow_one", "hashbrown::raw::RawTable<T,A>::reserve_rehash",
        "<str as alloc::string::ToString>::to_string",
        "<T as alloc::slice::hack::ConvertVec>::to_vec"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreStandardLibraries) {
  for (const char* name : {"std::vector<int>::push_back(int const&)",
                           "void std::vector<int>::_M_realloc_insert<int>(int&&)",
                           "__gnu_cxx::new_allocator<app::A>::allocate(unsigned long, void const*)",
                           "<alloc::vec::Vec<T> as core::clone::Clone>::clone"}) {
    EXPECT_TRUE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreNotFunctionsThatOnlyUseThem) {
  for (const char* name :
       {"main", "std_parse", "app::std::make()", "mallocate", "my_malloc",
        "std::string* app::make<int>(int)", "PyList_New", "PyUnicode_New", "alloc",
        "core::Parser::parse(int)", "<app::Node as core::clone::Clone>::clone", "sqlite3VdbeExec",
        "sqlite3DbFree", "g_object_new", "app::copy(<int as alloc::T>)"}) {
    EXPECT_FALSE(function_is(name)) << name;
  }
}

TEST(AllocationWrappers, AreModulesOfAllocatorsAndOfTheLibraryOfCxx) {
  for (const char* module : {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "libjemalloc.so.2",
                             "/opt/lib/heaptape/libheaptape-interposer.so"}) {
    EXPECT_TRUE(module_is(module)) << module;
  }
  for (const char* module : {"/usr/lib/libc.so.6", "/opt/libstdc++.so/app", ""}) {
    EXPECT_FALSE(module_is(module)) << module;
  }
}

TEST(AllocationWrappers, AreLinesOfTheHeadersOfCxx) {
  const SourceFrame source{"push_back", "/usr/include/c++/12/bits/stl_vector.h", 1287};
  EXPECT_TRUE(is_allocation_wrapper({"/opt/app", 1, {source}}, &source));
}

}  // namespace
}  // namespace heaptape::replayer
