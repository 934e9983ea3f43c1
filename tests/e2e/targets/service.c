/* service [UNTIL]: as a supervisor knows it. Says READY=1 to the datagram socket NOTIFY_SOCKET, if
   that is set, and prints its pid; forks a child and waits for it. Exits with 3 if wait(2) or
   SIGCHLD tell of any other child. Then allocates memory until the file UNTIL exists, for at most
   two minutes, and exits with 7. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12000, ROUND_US = 10000, BLOCK = 777 };

static volatile sig_atomic_t children_ended;

static void note_child(int signal) {
  (void)signal;
  ++children_ended;
}

static void notify(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int connection = socket(AF_UNIX, SOCK_DGRAM, 0);
  sendto(connection, "READY=1", 7, 0, (struct sockaddr*)&address, sizeof address);
  close(connection);
}

int main(int count, char** arguments) {
  signal(SIGCHLD, note_child);
  if (getenv("NOTIFY_SOCKET") != NULL) notify(getenv("NOTIFY_SOCKET"));
  printf("%d\n", (int)getpid());
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  pid_t ended;
  while ((ended = wait(NULL)) < 0 && errno == EINTR) {
  }
  if (ended != child || wait(NULL) != -1 || errno != ECHILD) return 3;
  for (int i = 0; count > 1 && i < ROUNDS && access(arguments[1], F_OK) != 0; ++i) {
    free(malloc(BLOCK));
    usleep(ROUND_US);
  }
  for (int i = 0; i < 1000; ++i) free(malloc(BLOCK + 1));
  return children_ended == 1 ? 7 : 3;
}
