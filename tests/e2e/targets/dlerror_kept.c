/* Says what the loader has to complain of: nothing, as long as nobody asked it anything. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  free(malloc(101));
  const char* message = dlerror();
  puts(message == NULL ? "nothing" : message);
  return 0;
}
