// Threads that want code of a cache at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "emu/code_cache.h"

namespace wavetap::emu {

// Four threads, two of which always want the same, go through all of `functions`, which lie `apart` from each other.
inline void want_code_at_once(CodeCache& cache, const CodeCache::Key& key, uint64_t first,
                              uint64_t functions, uint64_t apart) {
  constexpr uint64_t kThreads = 4;
  std::atomic<uint64_t> ready{0};
  std::vector<std::thread> threads;
  for (uint64_t from = 0; from < kThreads; ++from)
    threads.emplace_back([&, from] {
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      for (uint64_t i = 0; i < functions; ++i)
        cache.find(key, {first + (from / 2 + i) % functions * apart}, 1);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace wavetap::emu
