#include "vgpu/own_fds.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/sys_files.h"

namespace wavetap::vgpu::own_fds {
namespace {

constexpr int kMostFds = 1 << 16;           // numbers beyond are used but not guarded
constexpr uint64_t kRaisedLimit = 1 << 14;  // closing every number up to it takes a program ~1 ms
constexpr uint64_t kSmallLimit = 256;

std::atomic<uint64_t> g_held[kMostFds / 64];
std::atomic<int> g_count{0};
std::atomic<int> g_lowest{kMostFds};
std::atomic<int> g_highest{-1};

struct Limits {
  uint64_t soft = 1024;
  uint64_t hard = 1024;
};

Limits limits() {
  struct rlimit limit {};
  if (sys::call(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) != 0) return {};
  return {std::min<uint64_t>(limit.rlim_cur, kMostFds),
          std::min<uint64_t>(limit.rlim_max, kMostFds)};
}

void remember(int fd) {
  if (fd < 0 || fd >= kMostFds) return;
  g_held[fd / 64].fetch_or(1ull << (fd % 64), std::memory_order_relaxed);
  g_count.fetch_add(1, std::memory_order_relaxed);
  int seen = g_lowest.load(std::memory_order_relaxed);
  while (fd < seen && !g_lowest.compare_exchange_weak(seen, fd, std::memory_order_relaxed)) {
  }
  seen = g_highest.load(std::memory_order_relaxed);
  while (fd > seen && !g_highest.compare_exchange_weak(seen, fd, std::memory_order_relaxed)) {
  }
}

}  // namespace

int adopt(int fd) {
  if (fd < 0) return fd;
  const uint64_t soft = limits().soft;
  // The upper half, or the last few numbers where there are only few.
  const int above =
      static_cast<int>(soft > kSmallLimit ? soft / 2 : soft - std::min<uint64_t>(soft, 10));
  const int high = sys::dup_above(fd, above);
  if (high >= 0) {
    sys::close(fd);
    fd = high;
  }
  remember(fd);
  return fd;
}

void forget(int fd) {
  if (fd < 0 || fd >= kMostFds) return;
  const uint64_t bit = 1ull << (fd % 64);
  if ((g_held[fd / 64].fetch_and(~bit, std::memory_order_relaxed) & bit) != 0)
    g_count.fetch_sub(1, std::memory_order_relaxed);
}

void close(int fd) {
  if (fd < 0) return;
  forget(fd);
  sys::close(fd);
}

bool contains(int fd) {
  if (fd < 0 || fd >= kMostFds) return false;
  return ((g_held[fd / 64].load(std::memory_order_relaxed) >> (fd % 64)) & 1) != 0;
}

int lowest() { return g_lowest.load(std::memory_order_relaxed); }
int highest() { return g_highest.load(std::memory_order_relaxed); }

bool raise_limit() {
  const Limits limit = limits();
  const uint64_t raised = std::min(limit.hard, std::max(kRaisedLimit, limit.soft + kSmallLimit));
  if (raised <= limit.soft) return false;
  struct rlimit wanted {};
  if (sys::call(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &wanted) != 0) return false;
  wanted.rlim_cur = raised;
  return sys::call(SYS_prlimit64, 0, RLIMIT_NOFILE, &wanted, nullptr) == 0;
}

bool has_room() {
  const uint64_t count = static_cast<uint64_t>(g_count.load(std::memory_order_relaxed));
  const auto fits = [count](uint64_t limit) {
    return limit > kSmallLimit && count < limit / 2 - 32;
  };
  const Limits limit = limits();
  if (fits(limit.soft)) return true;
  return fits(std::min(limit.hard, kRaisedLimit)) && raise_limit();
}

void close_all() {
  for (int word = 0; word < kMostFds / 64; ++word) {
    const uint64_t held = g_held[word].exchange(0, std::memory_order_relaxed);
    for (int bit = 0; held >> bit != 0 && bit < 64; ++bit)
      if (((held >> bit) & 1) != 0) sys::close(word * 64 + bit);
  }
  g_count.store(0, std::memory_order_relaxed);
  g_lowest.store(kMostFds, std::memory_order_relaxed);
  g_highest.store(-1, std::memory_order_relaxed);
}

}  // namespace wavetap::vgpu::own_fds
