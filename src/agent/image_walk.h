// Searching loaded libraries as the loader would: breadth first through dependencies.
#pragma once

#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/recording.h"
#include "record/images.h"

namespace wavetap::agent {

using record::file_name_of;
using record::find_image;
using record::find_symbol;
using record::for_each_needed;
using record::for_each_relocation;
using record::Image;
using record::image_counts;
using record::ImageCounts;
using record::is_binding;
using record::soname_of;

// Where a search may end: a library and the function it has.
struct Candidate {
  uintptr_t base;
  void* function;
};

// Everything that is loaded, and what a search has come by. One at a time, in with_images().
class ImageWalk {
 public:
  static constexpr size_t kMost = 2048;

  // What is loaded now, in the loader's order; nothing is seen.
  void take();

  size_t size() const { return count_; }
  const Image& operator[](size_t i) const { return images_[i]; }
  bool is_seen(size_t i) const { return seen_[i]; }
  void forget_seen() { memset(seen_, 0, sizeof seen_); }
  // The one that holds this address; null: none does.
  const Image* holding(uintptr_t address) const;

  // From the images for which wanted(index, image), through what they depend on, to the first
  // candidate; null: none was met. All that was come by counts as seen, and is not searched again.
  template <class Wanted>
  void* search_from(const Candidate* candidates, size_t count, Wanted wanted) {
    size_t tail = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (seen_[i] || !wanted(i, images_[i])) continue;
      seen_[i] = true;
      queue_[tail++] = static_cast<uint16_t>(i);
    }
    return search_queue(tail, candidates, count);
  }

 private:
  void* search_queue(size_t tail, const Candidate* candidates, size_t count);

  Image images_[kMost];
  size_t count_ = 0;
  bool seen_[kMost] = {};
  uint16_t queue_[kMost] = {};
};
extern ImageWalk g_walk WT_HIDDEN;  // kept between searches to save stack; under resolve_lock

// Runs work(walk). The loader's list stays locked meanwhile (its lock may be taken twice by one
// thread), so nothing of it goes away.
template <class Work>
void with_images(Work work) {
  const Locked lock(g_fork_wiped.resolve_lock);
  find_image([&](const Image&) {
    g_walk.take();
    work(g_walk);
    return true;
  });
}

// Names that were given to dlopen(), in order; under resolve_lock. A library opened under more than
// these is not known.
class OpenedNames {
 public:
  // True when it is new.
  bool add(const char* name);
  size_t size() const { return count_.load(std::memory_order_relaxed); }
  std::string_view operator[](size_t i) const { return names_[i]; }

 private:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMaxName = 256;

  char names_[kMost][kMaxName] = {};
  std::atomic<size_t> count_{0};
};

// Whether dlopen() of `name` gave this image.
bool was_opened_as(const Image& image, std::string_view name);

}  // namespace wavetap::agent
