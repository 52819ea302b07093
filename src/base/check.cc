#include "base/check.h"

#include <unistd.h>
#include <cstring>

#include <atomic>

#include "base/log.h"

namespace wavetap::check {
namespace {

constexpr int kOurBug = 3;  // exit status, as of every command

std::atomic<uint64_t> g_soft_failures{0};

// "store/bulk_writer.cc" of an absolute path, in which other folders may be called src too.
const char* below_src(const char* file) {
  while (const char* const at = std::strstr(file, "src/")) file = at + 4;
  return file;
}

void trap_in_debug() {
#ifndef NDEBUG
  __builtin_trap();
#endif
}

}  // namespace

void failed(const char* file, int line, const char* what) noexcept {
  log::complain("error: internal: %s:%d: does not hold: %s; please report it with the command",
                below_src(file), line, what);
  trap_in_debug();
  _exit(kOurBug);
}

bool failed_softly(const char* file, int line, const char* what) noexcept {
  if (g_soft_failures.fetch_add(1, std::memory_order_relaxed) == 0)
    log::complain("internal: %s:%d: does not hold: %s; the program goes on, please report it",
                  below_src(file), line, what);
  trap_in_debug();
  return false;
}

uint64_t soft_failures() noexcept { return g_soft_failures.load(std::memory_order_relaxed); }

}  // namespace wavetap::check
