// A priority queue whose links are in its elements, so that it allocates nothing: the pairing heap
// of Fredman, Sedgewick, Sleator and Tarjan (1986) with an auxiliary list, as ph.h of
// jemalloc 5.3.0 has it, and with its defect: first() is not always the first.
//
//   root -- aux -- aux     what was inserted since the root was last asked for
//    |
//   child -- child
//
// A root without children is replaced by the next of the auxiliary list, which need not be the
// best; what is inserted then and precedes that one becomes the root above all of them. (Mended in
// 5.3.1, commit 10d71315.) A correct heap in this place gives other addresses after some 10,000
// calls.
#pragma once

#include <bit>
#include <cstdint>

namespace heaptape::allocators::slabs {

template <typename Element>
struct HeapLinks {
  Element* child = nullptr;
  Element* next = nullptr;  // sibling
  Element* prev = nullptr;  // sibling, or the parent of a first child
};

// Element has `HeapLinks<Element> heap` and `bool before(const Element&) const`, a total order that
// must not change while it is in the heap. Elements are not owned.
template <typename Element>
class ExtentHeap {
 public:
  bool empty() const { return root_ == nullptr; }

  // Null if it is empty.
  Element* first() {
    if (root_ != nullptr) take_in_list();
    return root_;
  }

  void insert(Element& element) {
    element.heap = {};
    if (root_ == nullptr) {
      root_ = &element;
    } else if (element.before(*root_)) {
      element.heap.child = root_;
      root_->heap.prev = &element;
      root_ = &element;
      listed_ = 0;
    } else {
      ++listed_;
      link_after(*root_, element);
      if (listed_ > 1) meld_pairs(std::countr_zero(listed_ - 1));
    }
  }

  // `element` must be in the heap.
  void remove(Element& element) {
    if (&element == root_) {
      if (element.heap.child == nullptr) {
        root_ = element.heap.next;
        if (root_ != nullptr) root_->heap.prev = nullptr;
        return;
      }
      take_in_list();
      if (&element == root_) {
        root_ = meld_all(element.heap.child);
        return;
      }
    }
    replace(element, element.heap.child == nullptr ? nullptr : meld_all(element.heap.child));
  }

 private:
  // Both are without siblings.
  static Element& meld(Element& a, Element& b) {
    Element& parent = a.before(b) ? a : b;
    Element& child = &parent == &a ? b : a;
    child.heap.prev = &parent;
    child.heap.next = parent.heap.child;
    if (child.heap.next != nullptr) child.heap.next->heap.prev = &child;
    parent.heap.child = &child;
    return parent;
  }

  static Element& detach(Element& element) {
    element.heap.next = nullptr;
    element.heap.prev = nullptr;
    return element;
  }

  static void link_after(Element& before, Element& element) {
    element.heap.prev = &before;
    element.heap.next = before.heap.next;
    if (element.heap.next != nullptr) element.heap.next->heap.prev = &element;
    before.heap.next = &element;
  }

  // Trees linked by next.
  struct Queue {
    Element* head = nullptr;
    Element* tail = nullptr;

    void push(Element& tree) {
      (head == nullptr ? head : tail->heap.next) = &tree;
      tail = &tree;
    }
    Element& pop() {
      Element& tree = *head;
      head = tree.heap.next;
      return detach(tree);
    }
  };

  // One tree of some siblings: melded by pairs, an odd one left over; then the first two again and
  // again, the result going to the end, until there is but one.
  static Element* meld_all(Element* first) {
    Queue siblings{first, nullptr};
    Queue melded;
    while (siblings.head != nullptr) {
      Element& tree = siblings.pop();
      melded.push(siblings.head == nullptr ? tree : meld(tree, siblings.pop()));
    }
    while (melded.head != melded.tail) {
      Element& tree = melded.pop();
      Element& other = melded.pop();
      melded.push(meld(tree, other));
    }
    return melded.head;
  }

  void take_in_list() {
    listed_ = 0;
    Element* const list = root_->heap.next;
    if (list == nullptr) return;
    root_ = &meld(detach(*root_), *meld_all(list));
  }

  // The first two of the list become one, up to `times`.
  void meld_pairs(int times) {
    for (; times > 0; --times) {
      Element* const tree = root_->heap.next;
      Element* const other = tree == nullptr ? nullptr : tree->heap.next;
      if (other == nullptr) return;
      Element* const rest = other->heap.next;
      root_->heap.next = rest;
      link_after(*root_, meld(detach(*tree), detach(*other)));
      if (rest == nullptr) return;
    }
  }

  // `tree`, which may be null, takes the place of `element` among its siblings.
  static void replace(Element& element, Element* tree) {
    Element* const next = element.heap.next;
    Element& before = *element.heap.prev;
    Element* const in_place = tree != nullptr ? tree : next;
    (before.heap.child == &element ? before.heap.child : before.heap.next) = in_place;
    if (tree != nullptr) {
      tree->heap.prev = &before;
      tree->heap.next = next;
      if (next != nullptr) next->heap.prev = tree;
    } else if (next != nullptr) {
      next->heap.prev = &before;
    }
  }

  Element* root_ = nullptr;
  uint64_t listed_ = 0;  // inserted since; not lowered when some are removed
};

}  // namespace heaptape::allocators::slabs
