/* Makes its first calls to the allocator inside setlocale, which holds a lock of libc's meanwhile.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  for (int i = 0; i < 3; ++i) {
    if (setlocale(LC_ALL, "C.UTF-8") == NULL) return 77;
    free(malloc(101));
    if (setlocale(LC_ALL, "C") == NULL) return 78;
  }
  puts(setlocale(LC_ALL, ""));
  return 0;
}
