/* A gateway in small: the program of docs/tutorial.md.
 *
 * It answers a rush of requests. Each has a buffer as long as it is under way, and opens a session,
 * whose entry stays. Then the rush is over: all buffers are freed, and a little traffic goes on.
 * Built with -DTABLE, all entries have one place of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRush = 2000, kQuiet = 20000 };

struct session {
  int user;
  char name[92];
};

static char* buffers[kRush];
static struct session* sessions[kRush];

static size_t request_bytes(int request) {
  return 2000 + (size_t)request * 7919 % 12000;
}

static char* read_request(int request) {
  char* buffer = malloc(request_bytes(request));
  if (buffer != NULL) memset(buffer, 'r', request_bytes(request));
  return buffer;
}

#ifdef TABLE
static struct session* new_session(void) {
  static struct session* table;
  static int used;
  if (table == NULL) table = malloc(kRush * sizeof *table);
  return table == NULL ? NULL : &table[used++];
}
#else
static struct session* new_session(void) {
  return malloc(sizeof(struct session));
}
#endif

static struct session* open_session(int user) {
  struct session* session = new_session();
  if (session == NULL) return NULL;
  session->user = user;
  snprintf(session->name, sizeof session->name, "user %d", user);
  return session;
}

int main(void) {
  for (int i = 0; i < kRush; ++i) {
    buffers[i] = read_request(i);
    sessions[i] = open_session(i);
  }
  for (int i = 0; i < kRush; ++i) free(buffers[i]);
  for (int i = 0; i < kQuiet; ++i) free(read_request(i % 10));
  return sessions[kRush - 1] == NULL;
}
