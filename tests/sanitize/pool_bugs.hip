// An allocator that cuts blocks out of one large allocation, told about or not (wavetap/annotate.h).
//   pool_bugs CASE annotated|plain
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

#include "wavetap/annotate.h"

__global__ void fill(int* to, int count) {
  const int i = threadIdx.x;
  if (i < count) to[i] = i;  // MARK fill
}
__global__ void sum(const int* from, int count, int* to) {
  int all = 0;
  for (int i = 0; i < count; ++i) all += from[i];  // MARK sum
  *to = all;
}

// Blocks of 1 KiB, one behind the other.
struct Pool {
  static constexpr size_t kBytes = 1 << 16;
  char* begin = nullptr;
  size_t used = 0;
  bool annotates = false;

  explicit Pool(bool is_annotated) : annotates(is_annotated) {
    if (hipMalloc(&begin, kBytes) != hipSuccess || hipMemset(begin, 0, kBytes) != hipSuccess)
      std::printf("FAIL\n");
    if (annotates) wavetap_annotate_pool(begin, kBytes);
  }
  int* take(int count) {
    char* block = begin + used;
    used += 1024;
    if (annotates) wavetap_annotate_block(block, size_t(count) * sizeof(int));
    return reinterpret_cast<int*>(block);
  }
  void give_back(int* block) {
    if (annotates) wavetap_annotate_block_end(block);
  }
  void end() {
    if (annotates) wavetap_annotate_pool_end(begin);
  }
};

int main(int count, char** words) {
  if (count < 3) return 2;
  Pool pool(std::strcmp(words[2], "annotated") == 0);
  const auto is = [&](const char* name) { return std::strcmp(words[1], name) == 0; };
  int* a = pool.take(200);
  int* b = pool.take(100);
  fill<<<1, 256>>>(a, is("past") ? 201 : 200);  // one int too many
  fill<<<1, 256>>>(b, is("before") ? 100 : 99);
  if (is("before")) fill<<<1, 256>>>(b - 1, 1);                     // the int before the block
  if (is("neighbour")) sum<<<1, 1>>>(a, 257, b);                    // into the next block
  if (hipDeviceSynchronize() != hipSuccess) std::printf("FAIL\n");  // nobody uses it any more
  if (is("freed")) pool.give_back(a);
  if (is("again")) {  // freed, and taken again
    pool.give_back(a);
    if (pool.annotates) wavetap_annotate_block(a, 800);
  }
  if (is("ended")) pool.end();
  sum<<<1, 1>>>(a, is("ended") ? 230 : 200, b);
  if (hipDeviceSynchronize() != hipSuccess) std::printf("FAIL\n");
  if (!is("ended")) pool.end();
  if (hipFree(pool.begin) != hipSuccess) std::printf("FAIL\n");
  std::printf("ok\n");
}
