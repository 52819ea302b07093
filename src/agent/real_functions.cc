#include "agent/real_functions.h"

#include <atomic>

#include "agent/image_walk.h"
#include "agent/recording.h"

namespace wavetap::agent {

uint64_t g_binding_epoch = 1;

namespace {

constexpr size_t kMaxCandidates = 8;
constinit OpenedNames g_globals;  // opened RTLD_GLOBAL

size_t find_candidates(const char* symbol, Provider provider,
                       Candidate (&candidates)[kMaxCandidates]) {
  size_t count = 0;
  find_image([&](const Image& image) {
    if (!is_provider(image, provider)) return false;
    if (void* const function = find_symbol(image, symbol))
      candidates[count++] = {image.base, function};
    return count == kMaxCandidates;
  });
  return count;
}

// Among what everybody can see.
void* search_global(ImageWalk& walk, const Candidate* candidates, size_t count) {
  // The program comes first in the loader's list.
  const auto is_program = [](size_t i, const Image&) { return i == 0; };
  if (void* const found = walk.search_from(candidates, count, is_program)) return found;
  for (size_t g = 0; g < g_globals.size(); ++g) {
    const auto named = [&](size_t, const Image& image) {
      return was_opened_as(image, g_globals[g]);
    };
    if (void* const found = walk.search_from(candidates, count, named)) return found;
  }
  return nullptr;
}

void* search_from_caller(ImageWalk& walk, const Candidate* candidates, size_t count,
                         uintptr_t caller) {
  walk.forget_seen();
  return walk.search_from(candidates, count,
                          [&](size_t, const Image& image) { return image.contains(caller); });
}

RealFunction choose(const Candidate* candidates, size_t count, uintptr_t caller) {
  // A caller that depends on none of them (a plugin, code made at run time) means the first that
  // was loaded.
  RealFunction chosen{candidates[0].function, false};
  with_images([&](ImageWalk& walk) {
    if (void* const seen_by_all = search_global(walk, candidates, count))
      chosen = {seen_by_all, true};
    else if (void* const found = search_from_caller(walk, candidates, count, caller))
      chosen = {found, false};
  });
  return chosen;
}

bool needs_provider(const Image& image, Provider provider) {
  bool found = false;
  for_each_needed(image, [&](const char* needed) { found |= names_provider(needed, provider); });
  return found;
}

// The image refers to the symbol and its reference does not point into this library yet.
bool awaits_binding(const Image& image, const char* symbol, const Image& self) {
  bool found = false;
  for_each_relocation(image, [&](const ElfW(Rela) & relocation, const char* name) {
    if (!is_binding(relocation) || strcmp(name, symbol) != 0) return;
    uintptr_t value;
    memcpy(&value, reinterpret_cast<const void*>(image.base + relocation.r_offset), sizeof value);
    found |= !self.contains(value);
  });
  return found;
}

// Whether the provider has several libraries; kept until libraries come or go.
bool has_copies(Provider provider) {
  static std::atomic<uint64_t> counts_seen[3];
  static std::atomic<bool> several[3];
  const auto p = static_cast<size_t>(provider);
  const ImageCounts now = image_counts();
  const uint64_t stamp = (now.adds << 32 ^ now.subs) + 1;
  if (counts_seen[p].load(std::memory_order_acquire) == stamp)
    return several[p].load(std::memory_order_relaxed);
  int count = 0;
  find_image([&](const Image& image) {
    if (is_provider(image, provider)) ++count;
    return false;
  });
  several[p].store(count > 1, std::memory_order_relaxed);
  counts_seen[p].store(stamp, std::memory_order_release);
  return count > 1;
}

// The one function that everybody who is being bound can mean; null: there are several, or none.
void* only_one_meant(ImageWalk& walk, const char* symbol, Provider provider,
                     const Candidate* candidates, size_t count, const Image& self) {
  void* only = nullptr;
  for (size_t i = 0; i < walk.size(); ++i) {
    if (!needs_provider(walk[i], provider) || !awaits_binding(walk[i], symbol, self)) continue;
    walk.forget_seen();
    void* const meant =
        walk.search_from(candidates, count, [&](size_t j, const Image&) { return j == i; });
    if (meant == nullptr || (only != nullptr && only != meant)) return nullptr;
    only = meant;
  }
  return only;
}

}  // namespace

RealFunction find_real(const char* symbol, Provider provider, const void* caller) {
  const Inside inside;
  Candidate candidates[kMaxCandidates];
  const size_t count = find_candidates(symbol, provider, candidates);
  if (count == 0) return {nullptr, false};
  if (count == 1) return {candidates[0].function, true};
  return choose(candidates, count, reinterpret_cast<uintptr_t>(caller));
}

bool depends_on_real(const char* symbol, Provider provider, const void* caller) {
  const Inside inside;
  Candidate candidates[kMaxCandidates];
  const size_t count = find_candidates(symbol, provider, candidates);
  if (count == 0) return false;
  bool found = false;
  with_images([&](ImageWalk& walk) {
    found =
        search_from_caller(walk, candidates, count, reinterpret_cast<uintptr_t>(caller)) != nullptr;
  });
  return found;
}

void* find_real_while_binding(const char* symbol, Provider provider) {
  const Inside inside;
  if (!has_copies(provider)) return nullptr;
  Candidate candidates[kMaxCandidates];
  const size_t count = find_candidates(symbol, provider, candidates);
  if (count < 2) return nullptr;
  void* only = nullptr;
  with_images([&](ImageWalk& walk) {
    if (search_global(walk, candidates, count) != nullptr) return;
    const Image* const self = walk.holding(reinterpret_cast<uintptr_t>(&find_real_while_binding));
    if (self != nullptr) only = only_one_meant(walk, symbol, provider, candidates, count, *self);
  });
  return only;
}

void note_global_library(const char* name) {
  const Inside inside;
  {
    const Locked lock(g_fork_wiped.resolve_lock);
    if (!g_globals.add(name)) return;
  }
  count_binding();
}

Definition find_definition(const char* symbol) {
  const Inside inside;
  const auto here = reinterpret_cast<uintptr_t>(&find_definition);
  Candidate candidates[kMaxCandidates];
  size_t count = 0;
  find_image([&](const Image& image) {
    if (image.contains(here)) return false;
    if (void* const function = find_symbol(image, symbol))
      candidates[count++] = {image.base, function};
    return count == kMaxCandidates;
  });
  if (count == 0) return {nullptr, false};
  if (count == 1) return {candidates[0].function, true};
  const RealFunction chosen = choose(candidates, count, 0);
  return {chosen.function, chosen.for_everyone};
}

void* find_next(const char* symbol) {
  const Inside inside;
  const auto here = reinterpret_cast<uintptr_t>(&find_next);
  bool passed = false;
  void* first = nullptr;
  void* found = nullptr;
  find_image([&](const Image& image) {
    const bool is_self = image.contains(here);
    passed |= is_self;
    // A second copy of this library stands aside, but has the symbol as well.
    if (is_self || find_symbol(image, "wavetap_version") != nullptr) return false;
    void* const defined = find_symbol(image, symbol);
    if (first == nullptr) first = defined;
    if (passed) found = defined;
    return found != nullptr;
  });
  // Nothing is behind a library that the program has opened itself.
  return found != nullptr ? found : first;
}

}  // namespace wavetap::agent
