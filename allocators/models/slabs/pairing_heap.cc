#include "allocators/models/slabs/pairing_heap.h"

#include <bit>

namespace heaptape::allocators::slabs {
namespace {

// Neither has siblings.
Extent& meld(Extent& a, Extent& b) {
  Extent& parent = a.before(b) ? a : b;
  Extent& child = &parent == &a ? b : a;
  child.heap.prev = &parent;
  child.heap.next = parent.heap.child;
  if (child.heap.next != nullptr) child.heap.next->heap.prev = &child;
  parent.heap.child = &child;
  return parent;
}

Extent& detach(Extent& extent) {
  extent.heap.next = nullptr;
  extent.heap.prev = nullptr;
  return extent;
}

void link_after(Extent& before, Extent& extent) {
  extent.heap.prev = &before;
  extent.heap.next = before.heap.next;
  if (extent.heap.next != nullptr) extent.heap.next->heap.prev = &extent;
  before.heap.next = &extent;
}

// `tree`, which may be null, takes the place of `extent` among its siblings.
void replace(Extent& extent, Extent* tree) {
  Extent* const next = extent.heap.next;
  Extent& before = *extent.heap.prev;
  (before.heap.child == &extent ? before.heap.child : before.heap.next) =
      tree != nullptr ? tree : next;
  if (tree != nullptr) {
    tree->heap.prev = &before;
    tree->heap.next = next;
    if (next != nullptr) next->heap.prev = tree;
  } else if (next != nullptr) {
    next->heap.prev = &before;
  }
}

// Trees linked by next.
struct Queue {
  Extent* head = nullptr;
  Extent* tail = nullptr;

  void push(Extent& tree) {
    (head == nullptr ? head : tail->heap.next) = &tree;
    tail = &tree;
  }
  Extent& pop() {
    Extent& tree = *head;
    head = tree.heap.next;
    return detach(tree);
  }
};

// Makes one tree of siblings: melds them in pairs, with an odd one left over; then the first two
// repeatedly, the result going to the end, until only one is left.
Extent* meld_all(Extent* first) {
  Queue siblings{first, nullptr};
  Queue melded;
  while (siblings.head != nullptr) {
    Extent& tree = siblings.pop();
    melded.push(siblings.head == nullptr ? tree : meld(tree, siblings.pop()));
  }
  while (melded.head->heap.next != nullptr) {
    Extent& tree = melded.pop();
    Extent& other = melded.pop();
    melded.push(meld(tree, other));
  }
  return melded.head;
}

}  // namespace

Extent* PairingHeap::first() {
  if (root_ != nullptr) take_in_list();
  return root_;
}

void PairingHeap::insert(Extent& extent) {
  extent.heap = {};
  if (root_ == nullptr) {
    root_ = &extent;
  } else if (extent.before(*root_)) {
    extent.heap.child = root_;
    root_->heap.prev = &extent;
    root_ = &extent;
    listed_ = 0;
  } else {
    ++listed_;
    link_after(*root_, extent);
    if (listed_ > 1) meld_pairs(std::countr_zero(listed_ - 1));
  }
}

void PairingHeap::remove(Extent& extent) {
  if (&extent == root_) {
    if (extent.heap.child == nullptr) {
      root_ = extent.heap.next;
      if (root_ != nullptr) root_->heap.prev = nullptr;
      return;
    }
    take_in_list();
    if (&extent == root_) {
      root_ = meld_all(extent.heap.child);
      return;
    }
  }
  replace(extent, extent.heap.child == nullptr ? nullptr : meld_all(extent.heap.child));
}

void PairingHeap::take_in_list() {
  listed_ = 0;
  Extent* const list = root_->heap.next;
  if (list == nullptr) return;
  root_ = &meld(detach(*root_), *meld_all(list));
}

// Melds the first two of the list, up to `times` times.
void PairingHeap::meld_pairs(int times) {
  for (; times > 0; --times) {
    Extent* const tree = root_->heap.next;
    Extent* const other = tree == nullptr ? nullptr : tree->heap.next;
    if (other == nullptr) return;
    Extent* const rest = other->heap.next;
    root_->heap.next = rest;
    link_after(*root_, meld(detach(*tree), detach(*other)));
    if (rest == nullptr) return;
  }
}

}  // namespace heaptape::allocators::slabs
