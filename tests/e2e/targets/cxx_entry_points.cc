// Calls every form of operator new and delete, and prints what a tape of it must hold.
#include <initializer_list>
#include <new>

#include "oracle.h"

namespace {

using Align = std::align_val_t;

void* plain(bool array, size_t size) {
  return array ? did_allocate("new[]", size, ::operator new[](size))
               : did_allocate("new", size, ::operator new(size));
}

void* nothrow(bool array, size_t size) {
  return array ? did_allocate("new[](nothrow)", size, ::operator new[](size, std::nothrow))
               : did_allocate("new(nothrow)", size, ::operator new(size, std::nothrow));
}

void* aligned(bool array, size_t alignment, size_t size) {
  return array
             ? did_align("new[](align)", alignment, size, ::operator new[](size, Align(alignment)))
             : did_align("new(align)", alignment, size, ::operator new(size, Align(alignment)));
}

void* aligned_nothrow(bool array, size_t alignment, size_t size) {
  return array ? did_align("new[](align,nothrow)", alignment, size,
                           ::operator new[](size, Align(alignment), std::nothrow))
               : did_align("new(align,nothrow)", alignment, size,
                           ::operator new(size, Align(alignment), std::nothrow));
}

// The six ways to give a block up.
enum class Way { kPlain, kSized, kNothrow, kAligned, kSizedAligned, kAlignedNothrow };

void drop_one(Way way, void* block, size_t size, Align alignment) {
  switch (way) {
    case Way::kPlain:
      did_release("delete", block);
      return ::operator delete(block);
    case Way::kSized:
      did_release("delete(size)", block);
      return ::operator delete(block, size);
    case Way::kNothrow:
      did_release("delete(nothrow)", block);
      return ::operator delete(block, std::nothrow);
    case Way::kAligned:
      did_release("delete(align)", block);
      return ::operator delete(block, alignment);
    case Way::kSizedAligned:
      did_release("delete(size,align)", block);
      return ::operator delete(block, size, alignment);
    case Way::kAlignedNothrow:
      did_release("delete(align,nothrow)", block);
      return ::operator delete(block, alignment, std::nothrow);
  }
}

void drop_array(Way way, void* block, size_t size, Align alignment) {
  switch (way) {
    case Way::kPlain:
      did_release("delete[]", block);
      return ::operator delete[](block);
    case Way::kSized:
      did_release("delete[](size)", block);
      return ::operator delete[](block, size);
    case Way::kNothrow:
      did_release("delete[](nothrow)", block);
      return ::operator delete[](block, std::nothrow);
    case Way::kAligned:
      did_release("delete[](align)", block);
      return ::operator delete[](block, alignment);
    case Way::kSizedAligned:
      did_release("delete[](size,align)", block);
      return ::operator delete[](block, size, alignment);
    case Way::kAlignedNothrow:
      did_release("delete[](align,nothrow)", block);
      return ::operator delete[](block, alignment, std::nothrow);
  }
}

void drop(bool array, Way way, void* block, size_t size, size_t alignment) {
  (array ? drop_array : drop_one)(way, block, size, Align(alignment));
}

void every_form(bool array, size_t size) {
  drop(array, Way::kPlain, plain(array, size), size, 0);
  drop(array, Way::kSized, plain(array, size), size, 0);
  drop(array, Way::kNothrow, nothrow(array, size), size, 0);
  for (const size_t alignment : {8, 64, 4096}) {
    drop(array, Way::kAligned, aligned(array, alignment, size), size, alignment);
    drop(array, Way::kSizedAligned, aligned(array, alignment, size), size, alignment);
    drop(array, Way::kAlignedNothrow, aligned_nothrow(array, alignment, size), size, alignment);
  }
}

}  // namespace

int main() {
  for (const bool array : {false, true}) {
    for (const size_t size : {0, 1, 24, 100, 5000, 1 << 20}) every_form(array, size);
    drop(array, Way::kPlain, nullptr, 0, 0);
  }
  plain(false, 77);  // stays
  print_oracle();
}
