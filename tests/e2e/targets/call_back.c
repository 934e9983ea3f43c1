/* A library that calls what it is given, from a frame of so many bytes. */
#include <stddef.h>

void call_back(void (*function)(size_t), size_t size) {
  volatile char room[ROOM];
  room[0] = 1;
  function(size + room[0] - 1);
  room[1] = room[0];
}
