#include "agent/real_functions.h"

#include <string.h>

#include <atomic>
#include <string_view>

#include "agent/images.h"
#include "agent/lock.h"
#include "agent/recorder.h"

namespace wavetap::agent {
namespace {

constexpr size_t kMaxImages = 2048;
constexpr size_t kMaxCandidates = 8;

std::atomic<uint64_t> g_epoch{1};

struct Candidate {
  uintptr_t base;
  void* function;
};

// Kept between calls to save stack; under resolve_lock.
struct Walk {
  Image images[kMaxImages];
  size_t count;
  bool seen[kMaxImages];
  uint16_t queue[kMaxImages];
};
constinit Walk g_walk{};

bool names_provider(std::string_view name, Provider provider) {
  switch (provider) {
    case Provider::kHip: return name.starts_with("libamdhip64");
    // hipRTC is in a library of its own, in libamdhip64, or in both.
    case Provider::kHiprtc: return name.starts_with("libhiprtc.") || name.starts_with("libamdhip64");
    case Provider::kRoctx: return name.starts_with("libroctx64") || name.starts_with("librocprofiler-sdk-roctx");
  }
  return false;
}

bool is_provider(const Image& image, Provider provider) {
  return names_provider(file_name_of(image), provider) || names_provider(soname_of(image), provider);
}

bool answers_to(const Image& image, std::string_view needed) {
  return needed == soname_of(image) || needed == file_name_of(image);
}

// Breadth first through the dependencies of the caller's image, as the loader would search.
void* choose_by_caller(const Candidate* candidates, size_t count, uintptr_t caller) {
  const Locked lock(g_fork_wiped.resolve_lock);
  Walk& walk = g_walk;
  walk.count = 0;
  find_image([&](const Image& image) {
    walk.images[walk.count++] = image;
    return walk.count == kMaxImages;
  });
  memset(walk.seen, 0, walk.count);
  size_t head = 0, tail = 0;
  for (size_t i = 0; i < walk.count; ++i) {
    if (!walk.images[i].contains(caller)) continue;
    walk.seen[i] = true;
    walk.queue[tail++] = static_cast<uint16_t>(i);
  }
  while (head < tail) {
    const Image& image = walk.images[walk.queue[head++]];
    for (size_t c = 0; c < count; ++c)
      if (candidates[c].base == image.base) return candidates[c].function;
    for_each_needed(image, [&](const char* needed) {
      for (size_t i = 0; i < walk.count; ++i) {
        if (!answers_to(walk.images[i], needed)) continue;
        if (!walk.seen[i]) walk.queue[tail++] = static_cast<uint16_t>(i);
        walk.seen[i] = true;
        break;
      }
    });
  }
  return nullptr;
}

}  // namespace

RealFunction find_real(const char* symbol, Provider provider, const void* caller) {
  const Inside inside;
  Candidate candidates[kMaxCandidates];
  size_t count = 0;
  find_image([&](const Image& image) {
    if (!is_provider(image, provider)) return false;
    if (void* const function = find_symbol(image, symbol)) candidates[count++] = {image.base, function};
    return count == kMaxCandidates;
  });
  if (count == 0) return {nullptr, false};
  if (count == 1) return {candidates[0].function, true};
  void* const chosen = choose_by_caller(candidates, count, reinterpret_cast<uintptr_t>(caller));
  // A caller that depends on none of them (a plugin, code made at run time) means the first that was loaded.
  return {chosen != nullptr ? chosen : candidates[0].function, false};
}

bool is_in_provider(Provider provider, const void* address) {
  const Inside inside;
  bool found = false;
  find_image([&](const Image& image) {
    if (!image.contains(reinterpret_cast<uintptr_t>(address))) return false;
    found = is_provider(image, provider);
    return true;
  });
  return found;
}

void* find_next(const char* symbol) {
  const Inside inside;
  const auto here = reinterpret_cast<uintptr_t>(&find_next);
  bool passed = false;
  void* found = nullptr;
  find_image([&](const Image& image) {
    if (passed) found = find_symbol(image, symbol);
    passed |= image.contains(here);
    return found != nullptr;
  });
  return found;
}

uint64_t binding_epoch() { return g_epoch.load(std::memory_order_seq_cst); }
void count_binding() { g_epoch.fetch_add(1, std::memory_order_seq_cst); }

}  // namespace wavetap::agent
