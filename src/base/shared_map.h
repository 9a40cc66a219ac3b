// src/base/shared_map.h - an ordered map whose copy costs one pointer, so a snapshot is free and readable on any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/shared_value.h"

namespace millrace {

// Fixed mixing function: the shape of the tree is a function of its keys alone, never of a library's hash.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class Key>
struct KeyBits;  // specialise: static std::uint64_t of(const Key&)

template <class Key>
  requires requires(const Key& key) { static_cast<std::uint64_t>(key.value); }
struct KeyBits<Key> {
  static std::uint64_t of(const Key& key) { return static_cast<std::uint64_t>(key.value); }
};

// A treap with copy-on-write nodes. Only nodes on the path to a change are copied, and only while a snapshot shares
// them. Iteration is in key order.
template <class Key, class Value>
class SharedMap {
  struct Node;
  using Link = SharedValue<Node>;
  struct Node {
    Key key;
    Value value;
    Link left, right;
  };

 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const Value* find(const Key& key) const {
    const Node* node = root_.get();
    while (node) {
      if (key < node->key)
        node = node->left.get();
      else if (node->key < key)
        node = node->right.get();
      else
        return &node->value;
    }
    return nullptr;
  }
  bool contains(const Key& key) const { return find(key) != nullptr; }
  const Value& at(const Key& key) const {
    const Value* value = find(key);
    MR_ASSERT(value != nullptr);
    return *value;
  }

  // The value for writing, or null. Copies the path first where a snapshot still holds it.
  Value* edit(const Key& key) {
    if (!contains(key)) return nullptr;
    Link* link = &root_;
    for (;;) {
      Node& node = link->edit();
      if (key < node.key)
        link = &node.left;
      else if (node.key < key)
        link = &node.right;
      else
        return &node.value;
    }
  }

  // Inserts or replaces; tells whether the key was new.
  bool set(const Key& key, Value value) {
    if (Value* present = edit(key)) {
      *present = std::move(value);
      return false;
    }
    insert_at(root_, Link(Node{key, std::move(value), {}, {}}));
    ++size_;
    return true;
  }

  bool erase(const Key& key) {
    if (!contains(key)) return false;
    Link* link = &root_;
    for (;;) {
      Node& node = link->edit();
      if (key < node.key) {
        link = &node.left;
      } else if (node.key < key) {
        link = &node.right;
      } else {
        Link left = std::move(node.left), right = std::move(node.right);
        *link = merge(std::move(left), std::move(right));
        --size_;
        return true;
      }
    }
  }

  // A map of pairs whose keys rise strictly, in one pass: how a snapshot of a hundred thousand jobs is read back.
  static SharedMap from_sorted(std::vector<std::pair<Key, Value>> pairs) {
    SharedMap map;
    std::vector<Link> spine;  // each the right child of the one before, tied together when it is left behind
    for (auto& [key, value] : pairs) {
      MR_ASSERT(spine.empty() || spine.back()->key < key);
      Link fresh(Node{std::move(key), std::move(value), {}, {}});
      Link below;
      while (!spine.empty() && rank(*spine.back()) < rank(*fresh)) {
        spine.back().edit().right = std::move(below);
        below = std::move(spine.back());
        spine.pop_back();
      }
      fresh.edit().left = std::move(below);
      spine.push_back(std::move(fresh));
    }
    for (; !spine.empty(); spine.pop_back()) {
      spine.back().edit().right = std::move(map.root_);
      map.root_ = std::move(spine.back());
    }
    map.size_ = pairs.size();
    return map;
  }

  // Walks in key order, from the first key not below `from` where one is given. The snapshot must outlive the iterator.
  class Iterator {
   public:
    std::pair<const Key&, const Value&> operator*() const { return {path_.back()->key, path_.back()->value}; }
    Iterator& operator++() {
      const Node* node = path_.back()->right.get();
      path_.pop_back();
      descend(node);
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return path_.empty() ? other.path_.empty() : !other.path_.empty() && path_.back() == other.path_.back();
    }

   private:
    friend class SharedMap;
    void descend(const Node* node) {
      for (; node; node = node->left.get()) path_.push_back(node);
    }
    std::vector<const Node*> path_;
  };

  Iterator begin() const {
    Iterator it;
    it.descend(root_.get());
    return it;
  }
  Iterator end() const { return {}; }
  Iterator lower_bound(const Key& from) const {
    Iterator it;
    for (const Node* node = root_.get(); node;) {
      if (node->key < from) {
        node = node->right.get();
      } else {
        it.path_.push_back(node);
        node = node->left.get();
      }
    }
    return it;
  }

  // Calls visit(key, old value or null, new value or null) for every key whose place may have changed between the two
  // maps, in no promised order; parts that both share are passed over, so that the cost follows the difference. Equal
  // pairs may be visited.
  template <class Visit>
  static void compare(const SharedMap& before, const SharedMap& after, Visit visit) {
    compare_below(before.root_.get(), after.root_.get(), nullptr, nullptr, visit);
  }

 private:
  // The part of this tree strictly between two keys; null bounds are open.
  static const Node* within(const Node* node, const Key* low, const Key* high) {
    while (node) {
      if (low && !(*low < node->key))
        node = node->right.get();
      else if (high && !(node->key < *high))
        node = node->left.get();
      else
        break;
    }
    return node;
  }
  template <class Visit>
  static void compare_below(const Node* before, const Node* after, const Key* low, const Key* high, Visit& visit) {
    before = within(before, low, high);
    after = within(after, low, high);
    if (before == after) return;
    // The root of a part is its highest rank, so of two different roots the higher one's key is missing on the other
    // side.
    const bool take_before =
        before && (!after || !(before->key < after->key || after->key < before->key) || rank(*before) > rank(*after) ||
                   (rank(*before) == rank(*after) && before->key < after->key));
    const bool both = before && after && !(before->key < after->key) && !(after->key < before->key);
    const Node* root = take_before ? before : after;
    const Node* other = take_before ? after : before;
    if (both) {
      visit(before->key, &before->value, &after->value);
      compare_below(before->left.get(), after->left.get(), low, &root->key, visit);
      compare_below(before->right.get(), after->right.get(), &root->key, high, visit);
      return;
    }
    if (take_before)
      visit(root->key, &root->value, static_cast<const Value*>(nullptr));
    else
      visit(root->key, static_cast<const Value*>(nullptr), &root->value);
    const Node* left = root->left.get();
    const Node* right = root->right.get();
    compare_below(take_before ? left : other, take_before ? other : left, low, &root->key, visit);
    compare_below(take_before ? right : other, take_before ? other : right, &root->key, high, visit);
  }

  static std::uint64_t rank(const Node& node) { return mix_bits(KeyBits<Key>::of(node.key)); }

  static void insert_at(Link& link, Link fresh) {
    if (!link) {
      link = std::move(fresh);
      return;
    }
    if (rank(*fresh) > rank(*link)) {
      auto [left, right] = split(std::move(link), fresh->key);
      Node& node = fresh.edit();
      node.left = std::move(left);
      node.right = std::move(right);
      link = std::move(fresh);
      return;
    }
    Node& node = link.edit();
    Link& side = fresh->key < node.key ? node.left : node.right;
    insert_at(side, std::move(fresh));
  }

  static std::pair<Link, Link> split(Link link, const Key& at) {
    if (!link) return {};
    Node& node = link.edit();
    if (node.key < at) {
      auto [left, right] = split(std::move(node.right), at);
      node.right = std::move(left);
      return {std::move(link), std::move(right)};
    }
    auto [left, right] = split(std::move(node.left), at);
    node.left = std::move(right);
    return {std::move(left), std::move(link)};
  }

  static Link merge(Link left, Link right) {
    if (!left) return right;
    if (!right) return left;
    if (rank(*left) > rank(*right)) {
      Node& node = left.edit();
      node.right = merge(std::move(node.right), std::move(right));
      return left;
    }
    Node& node = right.edit();
    node.left = merge(std::move(left), std::move(node.left));
    return right;
  }

  Link root_;
  std::size_t size_ = 0;
};

}  // namespace millrace
