// Stream memory operations: a stream waits until a word in memory compares as asked, and writes
// words.
#include "check.h"

__global__ void set(int* out, int value) { *out = value; }

int main() {
  int supported = 0;
  WT_HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeCanUseStreamWaitValue, 0));
  if (supported == 0) check::skip("the device cannot wait for values");
  hipStream_t stream;
  WT_HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  void* signal = nullptr;
  WT_HIP(hipExtMallocWithFlags(&signal, 8, hipMallocSignalMemory));
  uint64_t* word = static_cast<uint64_t*>(signal);
  int* out = nullptr;
  WT_HIP(hipHostMalloc(&out, sizeof *out, hipHostMallocCoherent));
  const struct {
    const char* name;
    unsigned flags;
    uint64_t before, after, value;
  } cases[] = {{"equal", hipStreamWaitValueEq, 3, 17, 17},
               {"greater or equal", hipStreamWaitValueGte, 3, 20, 10},
               {"bits in common", hipStreamWaitValueAnd, 0x10, 0x06, 0x02}};
  for (const auto& c : cases) {
    __atomic_store_n(word, c.before, __ATOMIC_RELEASE);
    *out = 0;
    WT_HIP(hipStreamWaitValue64(stream, signal, c.value, c.flags, ~0ull));
    set<<<1, 1, 0, stream>>>(out, 1);
    const hipError_t state = hipStreamQuery(stream);
    (void)hipGetLastError();
    check::expect(state == hipErrorNotReady, "%s: the stream waits", c.name);
    __atomic_store_n(word, c.after, __ATOMIC_RELEASE);
    WT_HIP(hipStreamSynchronize(stream));
    check::equal("  and goes on", *out, 1);
  }
  check::Buffer<uint64_t> words(2);
  words.fill_bytes(0);
  // The non-blocking stream does not wait for the null stream.
  WT_HIP(hipStreamSynchronize(nullptr));
  WT_HIP(hipStreamWriteValue32(stream, words.get(), 0x12345678u, 0));
  WT_HIP(hipStreamWriteValue64(stream, words.get() + 1, 0x1122334455667788ull, 0));
  WT_HIP(hipStreamSynchronize(stream));
  check::equal("written words", words.read(),
               std::vector<uint64_t>{0x12345678ull, 0x1122334455667788ull});
  WT_HIP(hipFree(signal));
  WT_HIP(hipHostFree(out));
  WT_HIP(hipStreamDestroy(stream));
  return check::finish();
}
