// hipMalloc and hipFree: sizes from one byte to hundreds of megabytes, alignment, disjointness,
// many live allocations, reuse after free, pitched allocation, and what the device sees of them.
#include <algorithm>

#include "check.h"

__global__ void stamp(char* base, size_t bytes, char value) {
  if (threadIdx.x == 0) base[0] = value;
  if (threadIdx.x == 1) base[bytes - 1] = value;
  if (threadIdx.x == 2) base[bytes / 2] = value;
}

int main() {
  struct Block {
    char* base;
    size_t bytes;
  };
  std::vector<Block> blocks;
  const size_t sizes[] = {1,        3,        64,    255,           256,     4095,
                          4096,     4097,     65536, (1 << 20) - 1, 1 << 21, (1 << 21) + 1,
                          40 << 20, 300 << 20};
  for (size_t bytes : sizes) {
    void* base = nullptr;
    WT_HIP(hipMalloc(&base, bytes));
    blocks.push_back({static_cast<char*>(base), bytes});
  }
  bool aligned = true;
  for (const Block& b : blocks) aligned = aligned && reinterpret_cast<uintptr_t>(b.base) % 256 == 0;
  check::expect(aligned, "every allocation is aligned to 256 bytes");
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.base < b.base; });
  bool disjoint = true;
  for (size_t i = 0; i + 1 < blocks.size(); ++i)
    disjoint = disjoint && blocks[i].base + blocks[i].bytes <= blocks[i + 1].base;
  check::expect(disjoint, "allocations do not overlap");
  for (size_t i = 0; i < blocks.size(); ++i)
    stamp<<<1, 64>>>(blocks[i].base, blocks[i].bytes, static_cast<char>(i + 1));
  check::sync();
  bool kept = true;
  for (size_t i = 0; i < blocks.size(); ++i) {
    char first = 0, last = 0;
    WT_HIP(hipMemcpy(&first, blocks[i].base, 1, hipMemcpyDeviceToHost));
    WT_HIP(hipMemcpy(&last, blocks[i].base + blocks[i].bytes - 1, 1, hipMemcpyDeviceToHost));
    kept = kept && first == static_cast<char>(i + 1) && last == static_cast<char>(i + 1);
  }
  check::expect(kept, "first and last bytes of every allocation are writable");
  for (const Block& b : blocks) WT_HIP(hipFree(b.base));
  WT_HIP(hipFree(nullptr));
  check::expect(true, "hipFree(nullptr) is allowed");

  std::vector<int*> many(500);
  for (size_t i = 0; i < many.size(); ++i) {
    WT_HIP(hipMalloc(&many[i], 4096 + i * 16));
    const int value = static_cast<int>(i) * 3;
    WT_HIP(hipMemcpy(many[i], &value, sizeof value, hipMemcpyHostToDevice));
  }
  bool right = true;
  for (size_t i = 0; i < many.size(); i += 2) WT_HIP(hipFree(many[i]));
  for (size_t i = 1; i < many.size(); i += 2) {
    int value = 0;
    WT_HIP(hipMemcpy(&value, many[i], sizeof value, hipMemcpyDeviceToHost));
    right = right && value == static_cast<int>(i) * 3;
    WT_HIP(hipFree(many[i]));
  }
  check::expect(right, "500 allocations, freed in two passes, keep their contents");
  for (int i = 0; i < 300; ++i) {
    void* again = nullptr;
    WT_HIP(hipMalloc(&again, 1 << 20));
    WT_HIP(hipFree(again));
  }
  check::expect(true, "300 rounds of allocate and free");

  char* pitched = nullptr;
  size_t pitch = 0;
  // Refused by HIP itself where ROCr has no image support, as on hosts that are not x86.
  if (hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, 100, 30) == hipSuccess) {
    check::expect(pitch >= 100 && pitch % 64 == 0, "pitch of 100-byte rows is %zu", pitch);
    WT_HIP(hipFree(pitched));
  }
  (void)hipGetLastError();
  void* zero = nullptr;
  WT_HIP(hipMalloc(&zero, 0));
  check::expect(zero == nullptr, "zero bytes give a null pointer");
  WT_HIP_RETURNS(hipErrorInvalidValue, hipMalloc(nullptr, 16));
  int on_stack = 0;
  WT_HIP_RETURNS(hipErrorInvalidValue, hipFree(&on_stack));
  return check::finish();
}
