#include "agent/real_functions.h"

#include <string.h>

#include <atomic>
#include <string_view>

#include "agent/recording.h"

namespace wavetap::agent {

uint64_t g_binding_epoch = 1;

namespace {

constexpr size_t kMaxImages = 2048;
constexpr size_t kMaxCandidates = 8;

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
    case Provider::kHiprtc:
      return name.starts_with("libhiprtc.") || name.starts_with("libamdhip64");
    case Provider::kRoctx:
      return name.starts_with("libroctx64") || name.starts_with("librocprofiler-sdk-roctx");
  }
  return false;
}

bool answers_to(const Image& image, std::string_view needed) {
  return needed == soname_of(image) || needed == file_name_of(image);
}

void take_images(Walk& walk) {
  walk.count = 0;
  find_image([&](const Image& image) {
    walk.images[walk.count++] = image;
    return walk.count == kMaxImages;
  });
  memset(walk.seen, 0, sizeof walk.seen);
}

// Runs work(walk) with everything that is loaded in `walk`. The loader's list stays locked
// meanwhile (its lock may be taken twice by one thread), so nothing of it goes away.
template <class Work>
void with_images(Work work) {
  const Locked lock(g_fork_wiped.resolve_lock);
  find_image([&](const Image&) {
    take_images(g_walk);
    work(g_walk);
    return true;
  });
}

// Breadth first through the dependencies of images that are in the queue, as the loader would
// search.
void* search_queue(Walk& walk, size_t tail, const Candidate* candidates, size_t count) {
  for (size_t head = 0; head < tail;) {
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

template <class Wanted>
void* search_from(Walk& walk, const Candidate* candidates, size_t count, Wanted wanted) {
  size_t tail = 0;
  for (size_t i = 0; i < walk.count; ++i) {
    if (walk.seen[i] || !wanted(i, walk.images[i])) continue;
    walk.seen[i] = true;
    walk.queue[tail++] = static_cast<uint16_t>(i);
  }
  return search_queue(walk, tail, candidates, count);
}

// Names that were given to dlopen(), in order; under resolve_lock. A library opened under more than
// these is not known.
struct OpenedNames {
  static constexpr size_t kMost = 64;
  static constexpr size_t kMaxName = 256;
  char names[kMost][kMaxName];
  std::atomic<size_t> count{0};

  // True when it is new.
  bool add(const char* name) {
    const size_t length = strlen(name);
    const size_t used = count.load(std::memory_order_relaxed);
    if (length >= kMaxName || used == kMost) return false;
    for (size_t i = 0; i < used; ++i)
      if (strcmp(names[i], name) == 0) return false;
    memcpy(names[used], name, length + 1);
    count.store(used + 1, std::memory_order_relaxed);
    return true;
  }
};
constinit OpenedNames g_globals{};   // RTLD_GLOBAL
constinit OpenedNames g_deepbind{};  // RTLD_DEEPBIND

std::string_view last_part(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

bool was_opened_as(const Image& image, std::string_view name) {
  const bool is_path = name.find('/') != std::string_view::npos;
  return is_path ? name == image.path || last_part(name) == file_name_of(image)
                 : answers_to(image, name);
}

// Among what everybody can see.
void* search_global(Walk& walk, const Candidate* candidates, size_t count) {
  // The program comes first in the loader's list.
  if (void* const found =
          search_from(walk, candidates, count, [](size_t i, const Image&) { return i == 0; }))
    return found;
  for (size_t g = 0; g < g_globals.count.load(std::memory_order_relaxed); ++g) {
    const auto named = [&](size_t, const Image& image) {
      return was_opened_as(image, g_globals.names[g]);
    };
    if (void* const found = search_from(walk, candidates, count, named)) return found;
  }
  return nullptr;
}

RealFunction choose(const Candidate* candidates, size_t count, uintptr_t caller) {
  // A caller that depends on none of them (a plugin, code made at run time) means the first that
  // was loaded.
  RealFunction chosen{candidates[0].function, false};
  with_images([&](Walk& walk) {
    if (void* const found = search_global(walk, candidates, count)) {
      chosen = {found, true};
      return;
    }
    memset(walk.seen, 0, sizeof walk.seen);
    const auto holds_caller = [&](size_t, const Image& image) { return image.contains(caller); };
    if (void* const found = search_from(walk, candidates, count, holds_caller))
      chosen = {found, false};
  });
  return chosen;
}

// ---- who is being bound ------------------------------------------------------------------------

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

// Libraries of the provider; kept until libraries come or go.
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

}  // namespace

bool is_provider(const Image& image, Provider provider) {
  return names_provider(file_name_of(image), provider) ||
         names_provider(soname_of(image), provider);
}

namespace {

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
  with_images([&](Walk& walk) {
    const auto holds_caller = [&](size_t, const Image& image) {
      return image.contains(reinterpret_cast<uintptr_t>(caller));
    };
    found = search_from(walk, candidates, count, holds_caller) != nullptr;
  });
  return found;
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
  return count == 1 ? Definition{candidates[0].function, true} : choose(candidates, count, 0);
}

void* find_real_while_binding(const char* symbol, Provider provider) {
  const Inside inside;
  if (!has_copies(provider)) return nullptr;
  Candidate candidates[kMaxCandidates];
  const size_t count = find_candidates(symbol, provider, candidates);
  if (count < 2) return nullptr;
  void* only = nullptr;
  with_images([&](Walk& walk) {
    if (search_global(walk, candidates, count) != nullptr) return;
    Image self;
    for (size_t i = 0; i < walk.count; ++i)
      if (walk.images[i].contains(reinterpret_cast<uintptr_t>(&find_real_while_binding)))
        self = walk.images[i];
    for (size_t i = 0; i < walk.count; ++i) {
      if (!needs_provider(walk.images[i], provider) ||
          !awaits_binding(walk.images[i], symbol, self))
        continue;
      memset(walk.seen, 0, sizeof walk.seen);
      void* const meant =
          search_from(walk, candidates, count, [&](size_t j, const Image&) { return j == i; });
      if (meant == nullptr || (only != nullptr && only != meant)) {
        only = nullptr;  // in doubt
        return;
      }
      only = meant;
    }
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

// ---- who does not come to us -------------------------------------------------------------------

void note_deepbind_library(const char* name) {
  const Inside inside;
  const Locked lock(g_fork_wiped.resolve_lock);
  g_deepbind.add(name);
}

bool has_deepbind_libraries() { return g_deepbind.count.load(std::memory_order_relaxed) != 0; }

namespace {

bool is_any_provider(const Image& image) {
  return is_provider(image, Provider::kHip) || is_provider(image, Provider::kHiprtc) ||
         is_provider(image, Provider::kRoctx);
}

bool may_be_hooked(std::string_view name) {
  return name.starts_with("hip") || name.starts_with("__hip") || name.starts_with("roctx");
}

// Text in what the file itself brought into memory.
bool mentions(const Image& image, std::string_view text) {
  for (size_t i = 0; i < image.header_count; ++i) {
    const ElfW(Phdr)& header = image.headers[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0) continue;
    const auto* const at = reinterpret_cast<const char*>(image.base + header.p_vaddr);
    if (memmem(at, header.p_filesz, text.data(), text.size()) != nullptr) return true;
  }
  return false;
}

// In a walk from a library that looks at its own dependencies first: does this image of it miss us?
bool reaches_past_us(const Walk& walk, const Image& image, const Image& self) {
  bool bound_here = false, refers = false, looks_up = false;
  for_each_relocation(image, [&](const ElfW(Rela) & relocation, const char* name) {
    looks_up |= strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
    if (!may_be_hooked(name)) return;
    for (size_t i = 0; i < walk.count && !refers; ++i)
      refers = walk.seen[i] && is_any_provider(walk.images[i]) &&
               find_symbol(walk.images[i], name) != nullptr;
    uintptr_t value;
    memcpy(&value, reinterpret_cast<const void*>(image.base + relocation.r_offset), sizeof value);
    bound_here |= self.contains(value);
  });
  if (refers) return !bound_here;
  return looks_up && !bound_here && mentions(image, "libamdhip64");
}

}  // namespace

bool bypasses_us(uintptr_t image_begin) {
  const Inside inside;
  bool found = false;
  with_images([&](Walk& walk) {
    const Image* self = nullptr;
    for (size_t i = 0; i < walk.count; ++i)
      if (walk.images[i].contains(reinterpret_cast<uintptr_t>(&bypasses_us)))
        self = &walk.images[i];
    for (size_t g = 0;
         g < g_deepbind.count.load(std::memory_order_relaxed) && self != nullptr && !found; ++g) {
      memset(walk.seen, 0, sizeof walk.seen);
      // Nothing is looked for: all that the library depends on is marked as seen.
      search_from(walk, nullptr, 0, [&](size_t, const Image& image) {
        return was_opened_as(image, g_deepbind.names[g]);
      });
      for (size_t i = 0; i < walk.count && !found; ++i) {
        const Image& image = walk.images[i];
        if (walk.seen[i] && image.begin == image_begin && !is_any_provider(image))
          found = reaches_past_us(walk, image, *self);
      }
    }
  });
  return found;
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
