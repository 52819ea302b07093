#include "record/markers.h"

#include <fnmatch.h>
#include <string.h>

#include <atomic>

#include "record/clock.h"
#include "record/threads.h"

namespace wavetap::record {
namespace {

constexpr size_t kMaxMessage = 16 << 10;

std::atomic<uint64_t> g_ranges{0};

struct Piece {
  const char* text;
  size_t kept;
  size_t cut;

  explicit Piece(const char* source) : text(source == nullptr ? "" : source) {
    const size_t length = strlen(text);
    kept = length < kMaxMessage ? length : kMaxMessage;
    cut = length - kept;
  }
  size_t bytes() const { return sizeof(format::Text) + ((kept + 7) & ~size_t{7}); }
  char* store(char* at) const {
    const format::Text head{static_cast<uint32_t>(kept), static_cast<uint32_t>(cut)};
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, text, kept);
    return at + bytes();
  }
};

// ---- ranges that somebody waits for --------------------------------------------------------------

std::atomic<const char*> g_watched_name{nullptr};

// Started and not stopped, by number plus one; 0: a free place. More at once than this are not noticed.
constexpr size_t kMaxStarted = 64;
std::atomic<uint64_t> g_started[kMaxStarted];
std::atomic<uint32_t> g_started_count{0};

bool is_watched(const char* pattern, const char* name) {
  return name != nullptr && (strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0);
}

bool exchange_started(uint64_t from, uint64_t to) {
  for (std::atomic<uint64_t>& place : g_started) {
    uint64_t expected = from;
    if (place.load(std::memory_order_relaxed) == from &&
        place.compare_exchange_strong(expected, to))
      return true;
  }
  return false;
}

void note_range(const char* pattern, format::MarkerKind kind, uint64_t range, const char* name) {
  switch (kind) {
    case format::MarkerKind::kPush:
      if (t_thread.watched_range == 0 && is_watched(pattern, name))
        t_thread.watched_range = t_thread.ranges + 1;
      break;
    case format::MarkerKind::kPop:
      if (t_thread.watched_range == t_thread.ranges) t_thread.watched_range = 0;
      break;
    case format::MarkerKind::kStart:
      if (is_watched(pattern, name) && exchange_started(0, range + 1))
        g_started_count.fetch_add(1, std::memory_order_relaxed);
      break;
    case format::MarkerKind::kStop:
      if (exchange_started(range + 1, 0)) g_started_count.fetch_sub(1, std::memory_order_relaxed);
      break;
    default: break;
  }
}

}  // namespace

void watch_ranges(const char* pattern) { g_watched_name.store(pattern, std::memory_order_release); }

bool is_in_watched_range() {
  return t_thread.watched_range != 0 || g_started_count.load(std::memory_order_relaxed) != 0;
}

void write_marker(format::MarkerKind kind, uint64_t range, const char* message, const char* domain,
                  const char* category, uint8_t flags) {
  ensure_started();
  if (const char* const pattern = g_watched_name.load(std::memory_order_acquire)) [[unlikely]]
    note_range(pattern, kind, range, (flags & format::kMarkerNamed) != 0 ? category : message);
  if (!recording()) return;
  Stream* const own = stream();
  if (own == nullptr) return;
  const bool named = kind == format::MarkerKind::kPush || kind == format::MarkerKind::kInstant ||
                     kind == format::MarkerKind::kStart;
  const Piece pieces[] = {Piece(message), Piece(domain), Piece(category)};
  size_t extra = 0;
  if (named)
    for (const Piece& piece : pieces) extra += piece.bytes();
  auto* const record = own->reserve<format::MarkerRecord>(extra);
  if (record == nullptr) return;
  record->time = ticks();
  record->range = range;
  char* at = reinterpret_cast<char*>(record + 1);
  if (named)
    for (const Piece& piece : pieces) at = piece.store(at);
  own->commit(record, format::Kind::kMarker,
              static_cast<uint8_t>(static_cast<uint8_t>(kind) | flags));
}

uint64_t next_range() { return g_ranges.fetch_add(1, std::memory_order_relaxed) + 1; }

int enter_range() { return t_thread.ranges++; }
int leave_range() { return t_thread.ranges == 0 ? -1 : --t_thread.ranges; }

}  // namespace wavetap::record
