// Byte strings: counting occurrences, case folding, and Boyer-Moore-Horspool with a skip table in
// LDS.
#include "check.h"

__global__ void count_naive(const char* text, int length, const char* pattern, int pattern_length,
                            unsigned* count, uint8_t* where) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + pattern_length > length) return;
  for (int k = 0; k < pattern_length; ++k) {
    if (text[i + k] != pattern[k]) return;
  }
  atomicAdd(count, 1u);
  where[i] = 1;
}

// Each lane searches its own stretch of the text.
__global__ void count_horspool(const char* text, int length, const char* pattern,
                               int pattern_length, unsigned* count, int stretch) {
  __shared__ uint8_t skip[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    skip[i] = static_cast<uint8_t>(pattern_length);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k + 1 < pattern_length; ++k)
      skip[static_cast<uint8_t>(pattern[k])] = static_cast<uint8_t>(pattern_length - 1 - k);
  }
  __syncthreads();
  const int start = (blockIdx.x * blockDim.x + threadIdx.x) * stretch;
  const int end = min(start + stretch, length - pattern_length + 1);
  unsigned found = 0;
  for (int i = start; i < end;) {
    int k = pattern_length - 1;
    while (k >= 0 && text[i + k] == pattern[k]) --k;
    if (k < 0) ++found;
    i += k < 0 ? 1 : skip[static_cast<uint8_t>(text[i + pattern_length - 1])];
  }
  if (found != 0) atomicAdd(count, found);
}

__global__ void upper_case(char* text, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < length && text[i] >= 'a' && text[i] <= 'z')
    text[i] = static_cast<char>(text[i] - 'a' + 'A');
}

int main() {
  check::Rng rng(26);
  std::string text;
  for (int i = 0; i < 8000; ++i) text += static_cast<char>('a' + rng.below(3));
  const int length = static_cast<int>(text.size());
  check::Buffer<char> device_text(std::vector<char>(text.begin(), text.end()));
  for (const std::string pattern : {"a", "abc", "cacab", "aaaaaaa"}) {
    unsigned want = 0;
    std::vector<uint8_t> want_where(length);
    for (size_t at = text.find(pattern); at != std::string::npos; at = text.find(pattern, at + 1))
      ++want, want_where[at] = 1;
    check::Buffer<char> device_pattern(std::vector<char>(pattern.begin(), pattern.end()));
    check::Buffer<unsigned> count(2);
    check::Buffer<uint8_t> where(length);
    count.fill_bytes(0);
    where.fill_bytes(0);
    const int pattern_length = static_cast<int>(pattern.size());
    count_naive<<<check::blocks_for(length, 256), 256>>>(device_text, length, device_pattern,
                                                         pattern_length, count, where);
    count_horspool<<<2, 64>>>(device_text, length, device_pattern, pattern_length, count.get() + 1,
                              static_cast<int>(check::blocks_for(length, 128)));
    check::sync();
    check::equal(("occurrences of " + pattern).c_str(), count.read(),
                 std::vector<unsigned>{want, want});
    check::equal("  their places", where.read(), want_where);
  }
  upper_case<<<check::blocks_for(length, 64), 64>>>(device_text, length);
  check::sync();
  for (char& c : text) c = static_cast<char>(c - 'a' + 'A');
  check::equal("upper case", device_text.read(), std::vector<char>(text.begin(), text.end()));
  return check::finish();
}
