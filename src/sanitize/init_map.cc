#include "sanitize/init_map.h"

#include <algorithm>
#include <new>

namespace wavetap::sanitize {
namespace {

using Page = InitMap::Page;

// Calls visit(page number, word in the page, its bits) for the bytes [begin, + size), until it says false.
template <class F>
bool for_each_word(uint64_t begin, uint64_t size_bytes, F&& visit) {
  for (const uint64_t end = begin + size_bytes; begin < end;) {
    const uint64_t first = begin % 64;
    const uint64_t count = std::min(64 - first, end - begin);
    const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    if (!visit(begin / InitMap::kPageBytes, begin % InitMap::kPageBytes / 64, ones << first))
      return false;
    begin += count;
  }
  return true;
}

}  // namespace

InitMap::InitMap() : buckets_(new std::atomic<Page*>[kBuckets]()) {}
InitMap::~InitMap() = default;

Page* InitMap::find(uint64_t number) const {
  // Pairs with the store in page(): a page that is seen is complete.
  Page* page = buckets_[bucket_of(number)].load(std::memory_order_acquire);
  while (page != nullptr && page->number != number) page = page->next;
  return page;
}

Page* InitMap::page(uint64_t number) {
  if (Page* page = find(number)) return page;
  const std::lock_guard lock(mutex_);
  if (Page* page = find(number)) return page;
  std::unique_ptr<Page> page(new (std::nothrow) Page);
  if (page == nullptr) return nullptr;
  std::atomic<Page*>& bucket = buckets_[bucket_of(number)];
  page->number = number;
  page->next = bucket.load(std::memory_order_relaxed);
  bucket.store(page.get(), std::memory_order_release);
  pages_.push_back(std::move(page));
  return pages_.back().get();
}

uint64_t InitMap::memory_bytes() const {
  const InitMap* const more = undefined();
  const std::lock_guard lock(mutex_);
  return pages_.size() * sizeof(Page) + (more == nullptr ? 0 : more->memory_bytes());
}

InitMap& InitMap::make_undefined() {
  if (InitMap* const map = undefined()) return *map;
  const std::lock_guard lock(mutex_);
  if (undefined_owner_ == nullptr) {
    undefined_owner_ = std::make_unique<InitMap>();
    undefined_.store(undefined_owner_.get(), std::memory_order_release);
  }
  return *undefined_owner_;
}

void InitCursor::use(InitMap* map) {
  if (map != map_) std::fill(std::begin(cached_), std::end(cached_), nullptr);
  map_ = map;
}

Page* InitCursor::find(uint64_t number) {
  Page*& cached = cached_[number % kCached];
  if (cached != nullptr && cached->number == number) return cached;
  Page* const page = map_->find(number);
  if (page != nullptr) cached = page;
  return page;
}

bool InitCursor::any_written(uint64_t begin, uint64_t size_bytes) {
  return !for_each_word(begin, size_bytes, [&](uint64_t number, uint64_t word, uint64_t bits) {
    const Page* const page = find(number);
    return page == nullptr || (page->bits[word].load(std::memory_order_relaxed) & bits) == 0;
  });
}

bool InitCursor::all_written(uint64_t begin, uint64_t size_bytes) {
  return for_each_word(begin, size_bytes, [&](uint64_t number, uint64_t word, uint64_t bits) {
    const Page* const page = find(number);
    return page != nullptr && (~page->bits[word].load(std::memory_order_relaxed) & bits) == 0;
  });
}

void InitCursor::mark(uint64_t begin, uint64_t size_bytes) {
  for_each_word(begin, size_bytes, [&](uint64_t number, uint64_t word, uint64_t bits) {
    Page* page = find(number);
    if (page == nullptr) page = map_->page(number);
    if (page == nullptr) return true;
    // Most stores go where something was stored before: look first, and leave the line shared.
    if ((~page->bits[word].load(std::memory_order_relaxed) & bits) != 0)
      page->bits[word].fetch_or(bits, std::memory_order_relaxed);
    return true;
  });
}

void InitCursor::unmark(uint64_t begin, uint64_t size_bytes) {
  for_each_word(begin, size_bytes, [&](uint64_t number, uint64_t word, uint64_t bits) {
    Page* const page = find(number);
    if (page != nullptr && (page->bits[word].load(std::memory_order_relaxed) & bits) != 0)
      page->bits[word].fetch_and(~bits, std::memory_order_relaxed);
    return true;
  });
}

bool InitCursor::find_gap(uint64_t begin, uint64_t size_bytes, uint64_t least, uint64_t* gap,
                          uint64_t* count) {
  const uint64_t end = begin + size_bytes;
  uint64_t first = begin;
  const auto is_enough = [&](uint64_t at) {
    *gap = first;
    *count = at - first;
    return *count >= least;
  };
  for (uint64_t at = begin; at < end;) {
    if (at % 64 == 0 && end - at >= 64) {
      if (all_written(at, 64)) {
        if (is_enough(at)) return true;
        at += 64;
        first = at;
        continue;
      }
      if (!any_written(at, 64)) {
        at += 64;
        continue;
      }
    }
    if (any_written(at, 1)) {
      if (is_enough(at)) return true;
      first = at + 1;
    }
    ++at;
  }
  return is_enough(end);
}

bool InitCursor::find_run(uint64_t begin, uint64_t size_bytes, uint64_t least, uint64_t* run,
                          uint64_t* count) {
  const uint64_t end = begin + size_bytes;
  *count = 0;
  for (uint64_t at = begin; at < end;) {
    const uint64_t step = std::min(64 - at % 64, end - at);
    const bool is_none = !any_written(at, step);
    const bool is_all = !is_none && all_written(at, step);
    const uint64_t next = is_none || is_all ? at + step : at + 1;
    const bool is_marked = is_all || (!is_none && any_written(at, 1));
    if (!is_marked && *count >= least) return true;
    if (is_marked && *count == 0) *run = at;
    *count = is_marked ? *count + (next - at) : 0;
    at = next;
  }
  return *count >= least;
}

}  // namespace wavetap::sanitize
