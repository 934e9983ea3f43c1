// A priority queue whose links are in its elements, so that it allocates nothing: the pairing heap
// of Fredman, Sedgewick, Sleator and Tarjan (1986).
#pragma once

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
class PairingHeap {
 public:
  bool empty() const { return root_ == nullptr; }
  Element* first() const { return root_; }

  void insert(Element& element) {
    element.heap = {};
    root_ = root_ == nullptr ? &element : &meld(*root_, element);
  }

  // `element` must be in the heap.
  void remove(Element& element) {
    Element* const rest = join_children(element);
    if (&element == root_) {
      root_ = rest;
      return;
    }
    cut(element);
    if (rest != nullptr) root_ = &meld(*root_, *rest);
  }

 private:
  // Both are roots: without siblings.
  static Element& meld(Element& a, Element& b) {
    Element& parent = a.before(b) ? a : b;
    Element& child = &parent == &a ? b : a;
    child.heap.prev = &parent;
    child.heap.next = parent.heap.child;
    if (child.heap.next != nullptr) child.heap.next->heap.prev = &child;
    parent.heap.child = &child;
    return parent;
  }

  static void cut(Element& element) {
    Element& before = *element.heap.prev;
    if (before.heap.child == &element) {
      before.heap.child = element.heap.next;
    } else {
      before.heap.next = element.heap.next;
    }
    if (element.heap.next != nullptr) element.heap.next->heap.prev = &before;
  }

  static Element* detach(Element* element) {
    element->heap.next = nullptr;
    element->heap.prev = nullptr;
    return element;
  }

  // One heap of what is below `element`: melded by pairs from the left, then from the right.
  static Element* join_children(Element& element) {
    Element* pairs = nullptr;  // linked by next, last one first
    for (Element* child = element.heap.child; child != nullptr;) {
      Element* const second = child->heap.next;
      Element* const following = second == nullptr ? nullptr : second->heap.next;
      Element* pair = detach(child);
      if (second != nullptr) pair = &meld(*pair, *detach(second));
      pair->heap.next = pairs;
      pairs = pair;
      child = following;
    }
    Element* joined = nullptr;
    while (pairs != nullptr) {
      Element* const pair = pairs;
      pairs = pair->heap.next;
      detach(pair);
      joined = joined == nullptr ? pair : &meld(*joined, *pair);
    }
    return joined;
  }

  Element* root_ = nullptr;
};

}  // namespace heaptape::allocators::slabs
