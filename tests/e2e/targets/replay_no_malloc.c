/* A library that is not an allocator. */
int replay_answer(void) {
  return 42;
}
