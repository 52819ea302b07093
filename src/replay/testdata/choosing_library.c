// Takes address space as a library that lets mmap choose: a piece with room for alignment by size and
// for a guard page on both sides, of which the rest is given back.
#include <stdint.h>
#include <sys/mman.h>

enum { kPage = 4096, kMaxAlign = 2 << 20 };

void* choose(uint64_t size) {
  uint64_t align = kPage;
  while (align < kMaxAlign && size >= align * 2) align *= 2;
  const uint64_t all = size + align + 2 * kPage - kPage;
  char* piece = mmap(0, all, PROT_NONE, MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE, -1, 0);
  if (piece == MAP_FAILED) return 0;
  char* at = (char*)(((uintptr_t)piece + kPage + align - 1) & ~(uintptr_t)(align - 1));
  if (at > piece) munmap(piece, (size_t)(at - piece));
  if (piece + all > at + size) munmap(at + size, (size_t)(piece + all - (at + size)));
  return at;
}

// As such a library gives back what it did not get.
int give_nothing_back(uint64_t size) { return munmap(0, size); }
