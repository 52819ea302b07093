// Formatting many rows on several threads with the output in order. Each thread takes the next
// chunk of rows, formats it into memory, waits for its turn and hands it over; while one writes,
// the others format.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "export/sink.h"

namespace wavetap::exporter {

inline constexpr size_t kRowsPerChunk = 8192;

// format(sink, first, last) writes rows [first, last) into `sink`; emit(bytes) takes the chunks in
// order of rows.
template <class Format, class Emit>
void for_ordered_chunks(size_t rows, Format&& format, Emit&& emit) {
  const size_t chunks = (rows + kRowsPerChunk - 1) / kRowsPerChunk;
  const size_t workers =
      std::clamp<size_t>(std::min<size_t>(chunks, std::thread::hardware_concurrency()), 1, 8);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable turn;
  size_t written = 0;  // chunks handed over; guarded by mutex
  const auto work = [&] {
    Sink part = Sink::in_memory();
    while (true) {
      const size_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) return;
      part.clear();
      format(part, chunk * kRowsPerChunk, std::min(rows, (chunk + 1) * kRowsPerChunk));
      std::unique_lock lock(mutex);
      turn.wait(lock, [&] { return written == chunk; });
      emit(part.memory());
      ++written;
      turn.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace wavetap::exporter
