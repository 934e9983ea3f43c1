/* Answers requests, and keeps the answers until the end. Built twice; with REGRESSION it also keeps
 * what it was asked, never to free it, and says on which line. */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

enum { kRequests = 1000, kAnswerBytes = 100, kRequestBytes = 400 };

static void* answers[kRequests];
static void* requests[kRequests];

APART void parse(int i) {
  requests[i] = malloc(kRequestBytes / 2);
  free(requests[i]);
  requests[i] = NULL;
}

APART void remember(int i) {
  answers[i] = malloc(kAnswerBytes);
#ifdef REGRESSION
  requests[i] = malloc(kRequestBytes);
  enum { kPlantedLine = __LINE__ - 1 };
  if (i == 0) printf("%d\n", kPlantedLine);
#else
  if (i == 0) printf("none\n");
#endif
}

APART void forget(void) {
  for (int i = 0; i < kRequests; ++i) free(answers[i]);
}

int main(void) {
  for (int i = 0; i < kRequests; ++i) {
    parse(i);
    remember(i);
  }
  forget();
  return 0;
}
