#include "replay/steered_mmap.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace wavetap::replay {
namespace {

constexpr uint64_t kSteeredPage = 4096;
constexpr uint64_t kMaxAlign = uint64_t{2} << 20;
// Neither programs nor what mmap chooses lie there, on x86-64 or arm64.
constexpr uint64_t kLowStart = 0x6000'0000'0000;

using Mmap = void* (*)(void*, size_t, int, int, int, off_t);
using Munmap = int (*)(void*, size_t);

Mmap g_mmap = nullptr;  // as everybody else calls them
Munmap g_munmap = nullptr;
std::atomic<uint64_t> g_limit{0};  // 0: none

// What the thread's next mmap of the thunk is to give.
struct Aim {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t told = 0;  // the larger piece that the thunk believes it has
  uint64_t told_end = 0;
};
thread_local Aim g_aim;

uint64_t alignment_of(uint64_t size) {
  uint64_t align = kSteeredPage;
  while (align < kMaxAlign && size >= align * 2) align *= 2;
  return align;
}

// The kernel's choice where that is low enough.
void* mmap_below(uint64_t limit, size_t length, int protection, int flags, int fd, off_t offset) {
  static std::atomic<uint64_t> next{kLowStart};
  void* const choice = g_mmap(nullptr, length, protection, flags, fd, offset);
  if (choice == MAP_FAILED || reinterpret_cast<uint64_t>(choice) + length <= limit) return choice;
  const uint64_t step = (length + kMaxAlign - 1) & ~(kMaxAlign - 1);
  for (uint64_t place = next.fetch_add(step); place + step <= limit; place = next.fetch_add(step)) {
    void* const wanted = reinterpret_cast<void*>(place);
    void* const got = g_mmap(wanted, length, protection, flags | MAP_FIXED_NOREPLACE, fd, offset);
    if (got != wanted && (got != MAP_FAILED || errno == EEXIST)) {
      if (got != MAP_FAILED) g_munmap(got, length);  // a kernel without MAP_FIXED_NOREPLACE
      continue;
    }
    g_munmap(choice, length);
    return got;
  }
  return choice;
}

void* steered_mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  Aim& aim = g_aim;
  const bool chooses = at == nullptr && protection == PROT_NONE && (flags & MAP_ANONYMOUS) != 0;
  const uint64_t least = aim.size + alignment_of(aim.size) - kSteeredPage;
  if (!chooses || aim.size == 0 || aim.told != 0 || length < least) {
    const uint64_t limit = g_limit.load(std::memory_order_relaxed);
    return chooses && limit != 0 ? mmap_below(limit, length, protection, flags, fd, offset)
                                 : g_mmap(at, length, protection, flags, fd, offset);
  }
  void* const wanted = reinterpret_cast<void*>(aim.address);
  void* const got = g_mmap(wanted, aim.size, protection, flags | MAP_FIXED_NOREPLACE, fd, offset);
  if (got == MAP_FAILED) return MAP_FAILED;
  if (got != wanted) {  // a kernel without MAP_FIXED_NOREPLACE
    g_munmap(got, aim.size);
    return MAP_FAILED;
  }
  const uint64_t guard = (length - least) / 2;
  aim.told = aim.address - guard;
  aim.told_end = aim.told + length;
  return reinterpret_cast<void*>(aim.told);
}

int steered_munmap(void* at, size_t length) {
  if (at == nullptr) return 0;  // what the thunk did not get
  const Aim& aim = g_aim;
  const auto begin = reinterpret_cast<uint64_t>(at);
  const uint64_t end = begin + length;
  const bool never_was = begin >= aim.told && end <= aim.told_end &&
                         (end <= aim.address || begin >= aim.address + aim.size);
  if (aim.told != 0 && never_was) return 0;
  return g_munmap(at, length);
}

// Calls found(entry, name) for each function that the library imports.
template <class F>
void for_each_import(const link_map& library, F&& found) {
  const char* names = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  struct Table {
    const ElfW(Rela) * first = nullptr;
    size_t bytes = 0;
  } calls, others;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto pointer = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_STRTAB: names = reinterpret_cast<const char*>(pointer); break;
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(pointer); break;
      case DT_JMPREL: calls.first = reinterpret_cast<const ElfW(Rela)*>(pointer); break;
      case DT_PLTRELSZ: calls.bytes = entry->d_un.d_val; break;
      case DT_RELA: others.first = reinterpret_cast<const ElfW(Rela)*>(pointer); break;
      case DT_RELASZ: others.bytes = entry->d_un.d_val; break;
      default: break;
    }
  }
  if (names == nullptr || symbols == nullptr) return;
  for (const Table& table : {calls, others}) {
    if (table.first == nullptr) continue;
    const ElfW(Rela)* const end = table.first + table.bytes / sizeof(ElfW(Rela));
    for (const ElfW(Rela)* rela = table.first; rela < end; ++rela) {
      const auto symbol = ELF64_R_SYM(rela->r_info);
      if (symbol == 0) continue;
      found(reinterpret_cast<void**>(library.l_addr + rela->r_offset),
            names + symbols[symbol].st_name);
    }
  }
}

// The table may be read-only since the library was loaded.
bool set_entry(void** entry, void* value) {
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t page = reinterpret_cast<uint64_t>(entry) & ~(page_bytes - 1);
  if (mprotect(reinterpret_cast<void*>(page), page_bytes, PROT_READ | PROT_WRITE) != 0)
    return false;
  __atomic_store_n(entry, value, __ATOMIC_RELEASE);
  return true;
}

}  // namespace

SteeredMmap::SteeredMmap(const void* thunk_function) {
  Dl_info info{};
  link_map* library = nullptr;
  if (dladdr1(thunk_function, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr)
    return;
  if (g_mmap == nullptr) g_mmap = reinterpret_cast<Mmap>(dlsym(RTLD_DEFAULT, "mmap"));
  if (g_munmap == nullptr) g_munmap = reinterpret_cast<Munmap>(dlsym(RTLD_DEFAULT, "munmap"));
  if (g_mmap == nullptr || g_munmap == nullptr) return;
  for_each_import(*library, [&](void** entry, const char* name) {
    void* ours = nullptr;
    if (std::strcmp(name, "mmap") == 0 || std::strcmp(name, "mmap64") == 0)
      ours = reinterpret_cast<void*>(steered_mmap);
    if (std::strcmp(name, "munmap") == 0) ours = reinterpret_cast<void*>(steered_munmap);
    if (ours == nullptr) return;
    void* const old = *entry;
    if (set_entry(entry, ours)) changed_.emplace_back(entry, old);
  });
}

SteeredMmap::~SteeredMmap() {
  g_aim = {};
  if (limits_) g_limit = 0;
  for (const auto& [entry, old] : changed_) set_entry(entry, old);
}

void SteeredMmap::aim(uint64_t address, uint64_t size_bytes) {
  g_aim = {address, size_bytes, 0, 0};
}

void SteeredMmap::keep_below(uint64_t limit) {
  g_limit = limit;
  limits_ = true;
}

uint64_t steerable_bytes(uint64_t begin, uint64_t end) {
  const uint64_t size = end - begin;
  const uint64_t align = begin & (~begin + 1);  // what `begin` is a multiple of
  if (align >= kMaxAlign || size < 2 * align) return size;
  return align;  // what follows is aligned at least twice as well
}

}  // namespace wavetap::replay
