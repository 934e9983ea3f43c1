/* A library that maps a page whenever its process gets SIGUSR1: memory that is taken while no
 * operation is under way. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static void on_signal(int number) {
  (void)number;
  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((constructor)) static void begin(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, NULL);
}
