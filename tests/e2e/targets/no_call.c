// Ends, or with a word crashes, before it has called malloc.
int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) __builtin_trap();
  return 3;
}
