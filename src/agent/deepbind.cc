#include "agent/deepbind.h"

#include <string_view>

#include "agent/image_walk.h"
#include "agent/provider.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

constinit OpenedNames g_opened;

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
bool reaches_past_us(const ImageWalk& walk, const Image& image, const Image& self) {
  bool bound_here = false, refers = false, looks_up = false;
  for_each_relocation(image, [&](const ElfW(Rela) & relocation, const char* name) {
    looks_up |= strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
    if (!may_be_hooked(name)) return;
    for (size_t i = 0; i < walk.size() && !refers; ++i)
      refers = walk.is_seen(i) && is_any_provider(walk[i]) && find_symbol(walk[i], name) != nullptr;
    uintptr_t value;
    memcpy(&value, reinterpret_cast<const void*>(image.base + relocation.r_offset), sizeof value);
    bound_here |= self.contains(value);
  });
  if (refers) return !bound_here;
  return looks_up && !bound_here && mentions(image, "libamdhip64");
}

}  // namespace

void note_deepbind_library(const char* name) {
  const Inside inside;
  const Locked lock(g_fork_wiped.resolve_lock);
  g_opened.add(name);
}

bool has_deepbind_libraries() { return g_opened.size() != 0; }

bool bypasses_us(uintptr_t image_begin) {
  const Inside inside;
  bool found = false;
  with_images([&](ImageWalk& walk) {
    const Image* const self = walk.holding(reinterpret_cast<uintptr_t>(&bypasses_us));
    for (size_t g = 0; g < g_opened.size() && self != nullptr && !found; ++g) {
      walk.forget_seen();
      // Nothing is looked for: all that the library depends on is marked as seen.
      walk.search_from(nullptr, 0, [&](size_t, const Image& image) {
        return was_opened_as(image, g_opened[g]);
      });
      for (size_t i = 0; i < walk.size() && !found; ++i)
        if (walk.is_seen(i) && walk[i].begin == image_begin && !is_any_provider(walk[i]))
          found = reaches_past_us(walk, walk[i], *self);
    }
  });
  return found;
}

}  // namespace wavetap::agent
