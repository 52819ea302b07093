#include "replay/record_packer.h"

#include <zstd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace wavetap::replay {
namespace {

// Memory of programs: higher levels take several times as long for a few percent.
constexpr int kLevel = 1;
// Of what a small file consists of, they save a quarter, and take no time to speak of.
constexpr int kLevelOfSmall = 19;
constexpr size_t kSmall = 512u << 10;
// Below this a record is compressed when its turn comes: starting a thread would take longer.
constexpr size_t kWorthAThread = 64u << 10;

}  // namespace

// zstd's working memory, which is worth keeping.
class RecordPacker::Contexts {
 public:
  ~Contexts() {
    for (ZSTD_CCtx* context : idle_) ZSTD_freeCCtx(context);
  }
  ZSTD_CCtx* take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return ZSTD_createCCtx();
    ZSTD_CCtx* const context = idle_.back();
    idle_.pop_back();
    return context;
  }
  void give_back(ZSTD_CCtx* context) {
    const std::lock_guard lock(mutex_);
    if (context != nullptr) idle_.push_back(context);
  }

 private:
  std::mutex mutex_;
  std::vector<ZSTD_CCtx*> idle_;
};

RecordPacker::RecordPacker(Sink sink)
    : sink_(std::move(sink)),
      most_under_way_(std::clamp(std::thread::hardware_concurrency(), 1u, 16u) + 1),
      contexts_(std::make_unique<Contexts>()) {}

RecordPacker::~RecordPacker() { under_way_.clear(); }

void RecordPacker::put(format::CaptureRecordType type, std::string payload) {
  if (under_way_.size() >= most_under_way_) hand_on();
  // Both: where no thread can be had it is done in its turn.
  const auto policy = payload.size() >= kWorthAThread ? std::launch::async | std::launch::deferred
                                                      : std::launch::deferred;
  under_way_.push_back(std::async(policy, [this, type, raw = std::move(payload)]() mutable {
    Record record;
    record.payload = std::move(raw);
    const size_t raw_bytes = record.payload.size();
    record.packed.resize(ZSTD_compressBound(raw_bytes));
    ZSTD_CCtx* const context = contexts_->take();
    const size_t packed =
        context == nullptr ? raw_bytes
                           : ZSTD_compressCCtx(context, record.packed.data(), record.packed.size(),
                                               record.payload.data(), raw_bytes,
                                               raw_bytes <= kSmall ? kLevelOfSmall : kLevel);
    contexts_->give_back(context);
    const bool smaller = ZSTD_isError(packed) == 0 && packed < raw_bytes;
    record.header.magic = format::kCaptureRecordMagic;
    record.header.type = type;
    record.header.codec = smaller ? format::CaptureCodec::kZstd : format::CaptureCodec::kStored;
    record.header.raw_bytes = raw_bytes;
    record.header.stored_bytes = smaller ? packed : raw_bytes;
    const void* const stored = smaller ? static_cast<const void*>(record.packed.data())
                                       : static_cast<const void*>(record.payload.data());
    record.header.checksum = format::capture_record_checksum(record.header, stored);
    return record;
  }));
}

void RecordPacker::hand_on() {
  const Record record = under_way_.front().get();
  under_way_.pop_front();
  const bool is_packed = record.header.codec == format::CaptureCodec::kZstd;
  sink_(record.header, is_packed ? static_cast<const void*>(record.packed.data())
                                 : static_cast<const void*>(record.payload.data()));
}

void RecordPacker::finish() {
  while (!under_way_.empty()) hand_on();
}

uint64_t saved_by_packing(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  std::vector<std::byte> packed(ZSTD_compressBound(bytes.size()));
  const size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  return ZSTD_isError(size) != 0 || size >= bytes.size() ? 0 : bytes.size() - size;
}

}  // namespace wavetap::replay
