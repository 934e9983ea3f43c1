// Loads the library argv[1].
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2 || dlopen(argv[1], RTLD_NOW) == NULL) return 2;
  return write(STDOUT_FILENO, "loaded\n", 7) == 7 ? 0 : 1;
}
