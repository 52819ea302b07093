// InitMap: which bytes of global memory have been written since they were allocated. A bit for each byte,
// in pages that exist once something in them was written, so that memory nobody touches costs nothing and
// what is touched an eighth of its size.
//
// It only grows: addresses are not used again in a process that is checked. What was written may be undefined all the same,
// when it was copied from where nobody has written: that is a second map, undefined(), made when there is such a byte.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace wavetap::sanitize {

// Thread-safe, without order between a mark and a question at the same time: whether a kernel's load came
// before another's store is racecheck's to say.
class InitMap {
 public:
  static constexpr uint64_t kPageBytes = 1 << 15;
  struct Page {
    std::atomic<uint64_t> bits[kPageBytes / 64] = {};
    uint64_t number = 0;   // address / kPageBytes
    Page* next = nullptr;  // in its bucket
  };

  InitMap();
  ~InitMap();
  InitMap(const InitMap&) = delete;
  InitMap& operator=(const InitMap&) = delete;

  Page* find(uint64_t number) const;  // null: nothing in it was written
  Page* page(uint64_t number);        // null: there is no memory for it
  uint64_t memory_bytes() const;

  // Bytes that were stored undefined and not written since. Null: there are none.
  InitMap* undefined() const { return undefined_.load(std::memory_order_acquire); }
  InitMap& make_undefined();

  // Whether words may be defined in part: undefined(), or somebody has written less than words.
  bool has_parts() const {
    return has_parts_.load(std::memory_order_relaxed) || undefined() != nullptr;
  }
  void note_part() { has_parts_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr size_t kBuckets = 1 << 14;
  static size_t bucket_of(uint64_t number) {
    return static_cast<size_t>((number * 0x9e37'79b9'7f4a'7c15) >> 50);
  }

  std::unique_ptr<std::atomic<Page*>[]> buckets_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::atomic<bool> has_parts_{false};
  std::atomic<InitMap*> undefined_{nullptr};
  std::unique_ptr<InitMap> undefined_owner_;
};

// Asks and marks, and remembers the pages it used last. One thread at a time.
class InitCursor {
 public:
  void use(InitMap* map);

  // Of the bytes [begin, + size).
  bool any_written(uint64_t begin, uint64_t size_bytes);
  bool all_written(uint64_t begin, uint64_t size_bytes);
  void mark(uint64_t begin, uint64_t size_bytes);
  void unmark(uint64_t begin, uint64_t size_bytes);
  // The first `least` bytes or more in a row that were not written; *count is how many. False: there
  // are none.
  bool find_gap(uint64_t begin, uint64_t size_bytes, uint64_t least, uint64_t* gap,
                uint64_t* count);
  // The same of bytes that were.
  bool find_run(uint64_t begin, uint64_t size_bytes, uint64_t least, uint64_t* run,
                uint64_t* count);

 private:
  static constexpr size_t kCached = 8;
  InitMap::Page* find(uint64_t number);

  InitMap* map_ = nullptr;
  InitMap::Page* cached_[kCached] = {};
};

}  // namespace wavetap::sanitize
