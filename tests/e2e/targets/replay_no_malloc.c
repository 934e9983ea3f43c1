/* A library that is no allocator. */
int replay_answer(void) {
  return 42;
}
