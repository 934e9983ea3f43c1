// A service with a leak: it keeps every third request for an audit that never comes.
#include <stdlib.h>
#include <string.h>

struct request {
  char* body;
  int number;
};

static struct request* log_of_audit[200000];
static int kept;

static struct request* parse_request(int number) {
  const size_t bytes = 200 + (size_t)number % 300;
  struct request* request = malloc(sizeof *request);
  request->body = malloc(bytes);
  memset(request->body, 1, bytes);
  request->number = number;
  return request;
}

static void keep_for_audit(struct request* request) {
  log_of_audit[kept++] = request;
}

static void forget(struct request* request) {
  free(request->body);
  free(request);
}

int main(void) {
  for (int i = 0; i < 100000; ++i) {
    struct request* const request = parse_request(i);
    if (i % 3 == 0) {
      keep_for_audit(request);
    } else {
      forget(request);
    }
  }
  return 0;
}
