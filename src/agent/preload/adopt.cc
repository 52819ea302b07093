// A preloaded library stands before all others, and everybody is bound to it. One that the program
// opens later (Python's Tracer) comes too late for libraries that are bound already: those linked with
// HIP, and those that look functions up by name (Python's ctypes), whose dlsym() is libc's.
//
// Each such binding is a word in the table of the library that calls. So the tables are gone through
// once, and words that lead to HIP or to the loader's functions are made to lead to ours. The word is
// stored at once: a call under way goes the old way or the new. Pages that the loader has made
// read-only after binding are so again afterwards.
//
// What cannot be had: a function that the program has looked up before and kept. Import counts GPU
// work without a call as a loss then (format::kOptionLate).
#include "agent/preload/adopt.h"
#include "agent/image_walk.h"

#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "agent/preload/hip_copies.h"
#include "agent/preload/hip_table.h"
#include "agent/real_functions.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

constexpr const char* kLoaderFunctions[] = {"dlsym", "dlvsym", "dlopen", "dlclose"};

bool is_loader_function(std::string_view name) {
  for (const char* const known : kLoaderFunctions)
    if (name == known) return true;
  return false;
}

bool is_read_only(const Image& image, uintptr_t address) {
  for (size_t i = 0; i < image.header_count; ++i) {
    const ElfW(Phdr)& header = image.headers[i];
    if (header.p_type == PT_GNU_RELRO && address - (image.base + header.p_vaddr) < header.p_memsz)
      return true;
  }
  return false;
}

void bind(const Image& image, uintptr_t slot, void* function) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t page = slot & ~(page_bytes - 1);
  const bool locked = is_read_only(image, slot);
  if (locked && sys::call(SYS_mprotect, page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(reinterpret_cast<void**>(slot), function, __ATOMIC_RELEASE);
  if (locked) sys::call(SYS_mprotect, page, page_bytes, PROT_READ);
}

// What the binding of `name` to `bound` is to be; `bound` itself when it is to stay.
void* adopted(const Image& self, const char* name, void* bound) {
  if (self.contains(reinterpret_cast<uintptr_t>(bound))) return bound;
  if (is_loader_function(name)) {
    void* const ours = find_symbol(self, name);
    return ours != nullptr ? ours : bound;
  }
  return hip_index(name) != kNoHipFunction ? hip_wrapper_for(name, bound) : bound;
}

void adopt(const Image& image, const Image& self) {
  for_each_relocation(image, [&](const ElfW(Rela) & relocation, const char* name) {
    if (!is_binding(relocation) || relocation.r_addend != 0) return;
    const uintptr_t slot = image.base + relocation.r_offset;
    void* const bound = __atomic_load_n(reinterpret_cast<void**>(slot), __ATOMIC_RELAXED);
    if (void* const wanted = adopted(self, name, bound); wanted != bound) bind(image, slot, wanted);
  });
}

bool is_left_alone(const Image& image, const Image& self) {
  const std::string_view name = file_name_of(image);
  return image.dynamic == nullptr || image.begin == self.begin || name.starts_with("libc.so") ||
         name.starts_with("libdl.so") || name.starts_with("ld-linux") ||
         name.starts_with("linux-vdso") || is_provider(image, Provider::kHip) ||
         is_provider(image, Provider::kHiprtc);
}

}  // namespace

void adopt_early_callers() {
  static std::atomic<bool> done{false};
  if (!record::came_late() || is_passive() || done.exchange(true, std::memory_order_relaxed))
    return;
  const Inside inside;
  Image self;
  find_image([&](const Image& image) {
    const bool is_self = image.contains(reinterpret_cast<uintptr_t>(&adopt_early_callers));
    if (is_self) self = image;
    return is_self;
  });
  find_image([&](const Image& image) {
    if (!is_left_alone(image, self)) adopt(image, self);
    return false;
  });
}

}  // namespace wavetap::agent
