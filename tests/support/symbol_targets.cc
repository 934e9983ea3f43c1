#include "tests/support/symbol_targets.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "replayer/symbols/debug_files.h"

namespace heaptape::tests {
namespace {

uint64_t last_return_address = 0;

__attribute__((noinline)) void note_return_address() {
  last_return_address = reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

}  // namespace

std::string symbol_target(const std::string& name) {
  return std::string(HEAPTAPE_SYMBOL_TARGETS) + "/" + name;
}

uint32_t marked_line(const std::string& name) {
  std::ifstream source(HEAPTAPE_SYMBOL_SOURCE);
  std::string line;
  for (uint32_t number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// mark: " + name)) return number;
  }
  ADD_FAILURE() << "no line has the mark " << name;
  return 0;
}

uint64_t address_of(const char* symbol) {
  void* const library = dlopen(symbol_target("whole.so").c_str(), RTLD_NOW);  // never closed
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return 0;
  }
  void* const found = dlsym(library, symbol);
  EXPECT_NE(found, nullptr) << symbol;
  return reinterpret_cast<uint64_t>(found);
}

uint64_t return_address_in(const char* function) {
  const auto call = reinterpret_cast<void (*)(void (*)())>(address_of(function));
  if (call != nullptr) call(note_return_address);
  return last_return_address;
}

schema::CodeMapping mapping_of(uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    schema::CodeMapping mapping;
    std::string permissions, device, inode;
    char dash = 0;
    std::istringstream words(line);
    words >> std::hex >> mapping.range.begin >> dash >> mapping.range.end >> permissions >>
        mapping.file_offset >> device >> inode >> mapping.path;
    if (address < mapping.range.begin || address >= mapping.range.end) continue;
    const base::Descriptor file(open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC));
    mapping.build_id = replayer::build_id_of(file);
    return mapping;
  }
  ADD_FAILURE() << "nothing is mapped at " << address;
  return {};
}

schema::Stacks stack_at(uint64_t address, const std::string& path) {
  schema::CodeMapping mapping = mapping_of(address);
  mapping.path = path;
  schema::Stacks stacks;
  stacks.add_mapping(mapping);
  const schema::Frame frame = {0, address};
  stacks.add_frames(0, {&frame, 1});
  return stacks;
}

}  // namespace heaptape::tests
