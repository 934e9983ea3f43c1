/* A library that calls what it is given. */
#include <stddef.h>

void call_back(void (*function)(size_t), size_t size) {
  volatile char room[100];
  room[0] = 1;
  function(size + room[0] - 1);
  room[1] = room[0];
}
