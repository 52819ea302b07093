#include "record/markers.h"

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

}  // namespace

void write_marker(format::MarkerKind kind, uint64_t range, const char* message, const char* domain,
                  const char* category, uint8_t flags) {
  ensure_started();
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
