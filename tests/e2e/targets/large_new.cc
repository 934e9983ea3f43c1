// Makes and deletes large blocks by operator new: an allocator with operators of its own maps their
// memory in these.
#include <cstring>

namespace {

constexpr int kBlocks = 8;
constexpr unsigned long kBytes = 20ul << 20;

char* volatile blocks[kBlocks];

}  // namespace

int main() {
  for (auto& block : blocks) {
    block = new char[kBytes];
    std::memset(block, 1, kBytes);
  }
  for (auto& block : blocks) delete[] block;
}
