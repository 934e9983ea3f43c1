/* To link with in place of jemalloc, which is not a package that a build needs. */
#include <stddef.h>

int mallctl(const char* name, void* old, size_t* old_bytes, void* value, size_t bytes) {
  return name != NULL && old == NULL && old_bytes == NULL && value == NULL && bytes == 0;
}
int mallctlnametomib(const char* name, size_t* mib, size_t* length) {
  return name != NULL && mib == NULL && length == NULL;
}
int mallctlbymib(const size_t* mib, size_t length, void* old, size_t* old_bytes, void* value,
                 size_t bytes) {
  return mib != NULL && length == 0 && old == NULL && old_bytes == NULL && value == NULL &&
         bytes == 0;
}
