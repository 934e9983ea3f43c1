// Writes past RLIMIT_FSIZE, for which SIGXFSZ is the answer unless somebody ignored it.
//   file_limit FILE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const struct rlimit limit = {4096, 4096};
  free(malloc(101));
  if (argc != 2 || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
  const int fd = open(argv[1], O_CREAT | O_WRONLY, 0600);
  static const char page[4096];
  for (int i = 0; i < 2; ++i) {
    if (write(fd, page, sizeof page) != sizeof page) return 3;
  }
  return 0;
}
