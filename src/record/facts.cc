#include "record/facts.h"

#include <string.h>

#include <atomic>

#include "format/session.h"
#include "record/clock.h"
#include "record/losses.h"
#include "record/session.h"
#include "record/state.h"

namespace wavetap::record {
namespace {

constexpr size_t kMaxText = 32 << 10;

constexpr int kMaxSources = 8;
std::atomic<void (*)()> g_sources[kMaxSources];

std::atomic<uint64_t> g_operations{0};
std::atomic<uint32_t> g_queues{0};
std::atomic<uint32_t> g_code_objects{0};

void write_loss(format::Loss reason, uint64_t count, std::string_view what) {
  format::LossFact loss{};
  loss.time = ticks();
  loss.count = count;
  fact(loss, format::Kind::kLoss, static_cast<uint8_t>(reason), {what});
}

void write_losses() {
  static constexpr const char* kWhat[kLossKinds] = {"the disk is full",
                                                    "no memory or file descriptor for a chunk",
                                                    "GPU times of operations",
                                                    "texts were cut",
                                                    "the session folder cannot be written",
                                                    "calls from signal handlers, oversized records",
                                                    "calls of libraries"};
  for (int i = 0; i < kLossKinds; ++i) {
    const auto reason = static_cast<format::Loss>(i);
    if (const uint64_t count = take_new_losses(reason); count != 0)
      write_loss(reason, count, kWhat[i]);
  }
}

}  // namespace

void write_fact(const void* fixed, size_t fixed_bytes, format::Kind kind, uint8_t flags,
                std::initializer_list<std::string_view> texts) {
  if (!is_session_open()) return;
  const Inside inside;
  size_t bytes = fixed_bytes;
  for (const std::string_view text : texts) {
    const size_t kept = text.size() < kMaxText ? text.size() : kMaxText;
    bytes += sizeof(format::Text) + ((kept + 7) & ~size_t{7});
  }
  const Locked lock(g_fork_wiped.fact_lock);
  Stream& facts = session().facts();
  char* const record = reinterpret_cast<char*>(
      facts.reserve<format::RecordHeader>(bytes - sizeof(format::RecordHeader)));
  if (record == nullptr) return;
  char* at = record + sizeof(format::RecordHeader);
  memcpy(at, static_cast<const char*>(fixed) + sizeof(format::RecordHeader),
         fixed_bytes - sizeof(format::RecordHeader));
  at = record + fixed_bytes;
  for (const std::string_view text : texts) {
    const size_t kept = text.size() < kMaxText ? text.size() : kMaxText;
    const format::Text head{static_cast<uint32_t>(kept), static_cast<uint32_t>(text.size() - kept)};
    memcpy(at, &head, sizeof head);
    if (kept != 0) memcpy(at + sizeof head, text.data(), kept);  // what pads it is zero already
    at += sizeof head + ((kept + 7) & ~size_t{7});
  }
  facts.commit(record, kind, flags);
}

void add_fact_source(void (*write)()) {
  for (auto& slot : g_sources) {
    void (*empty)() = nullptr;
    if (slot.compare_exchange_strong(empty, write, std::memory_order_release) || empty == write)
      return;
  }
}

void write_known_facts() {
  for (auto& slot : g_sources)
    if (void (*const write)() = slot.load(std::memory_order_acquire)) write();
}

void report_loss(format::Loss reason, std::string_view what) {
  count_written_loss(reason);
  write_loss(reason, 1, what);
}

void write_pending_facts() {
  write_losses();
  const format::ClockSampleFact sample = sample_clocks();
  fact(sample, format::Kind::kClockSample, 0);
}

uint64_t next_operation() { return g_operations.fetch_add(1, std::memory_order_relaxed) + 1; }
uint32_t next_queue() { return g_queues.fetch_add(1, std::memory_order_relaxed) + 1; }
uint32_t next_code_object() { return g_code_objects.fetch_add(1, std::memory_order_relaxed) + 1; }
void forget_operations() { g_operations.store(0, std::memory_order_relaxed); }

std::string_view session_file(uint32_t number, char* buffer, size_t size) {
  if (!is_session_open()) return {};
  const size_t length = session().path(buffer, size, number, nullptr, format::kCodeObjectSuffix);
  if (length == 0) return {};
  const size_t folder = strlen(session().folder()) + 1;
  return {buffer + folder, length - folder};
}

}  // namespace wavetap::record
