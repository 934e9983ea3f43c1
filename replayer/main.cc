#include <cstring>
#include "recorder/record_command.h"
int main(int argc, char** argv) {
  heaptape::recorder::RecordOptions o;
  int i = 2;
  if (argc > 3 && !strcmp(argv[2], "-o")) {
    o.tape_path = argv[3];
    i = 4;
  }
  if (i < argc && !strcmp(argv[i], "--")) ++i;
  o.command.assign(argv + i, argv + argc);
  return run_record(o);
}
