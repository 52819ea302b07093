// Asynchronous copies: ordered within a stream, mixed with kernels, overlapping pieces of one
// buffer, from pageable and pinned memory, and a long chain whose result shows any lost ordering.
#include "check.h"

__global__ void increment(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) ++data[i];
}

int main() {
  const int count = 50000;
  const size_t bytes = count * sizeof(int);
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  int *pinned_in = nullptr, *pinned_out = nullptr;
  WT_HIP(hipHostMalloc(&pinned_in, bytes));
  WT_HIP(hipHostMalloc(&pinned_out, bytes));
  for (int i = 0; i < count; ++i) pinned_in[i] = i * 7;
  check::Buffer<int> a(count), b(count);

  WT_HIP(hipMemcpyAsync(a, pinned_in, bytes, hipMemcpyHostToDevice, stream));
  for (int turn = 0; turn < 20; ++turn) {
    increment<<<check::blocks_for(count, 256), 256, 0, stream>>>(a, count);
    WT_HIP(hipMemcpyAsync(b, a, bytes, hipMemcpyDeviceToDevice, stream));
    increment<<<check::blocks_for(count, 256), 256, 0, stream>>>(b, count);
    WT_HIP(hipMemcpyAsync(a, b, bytes, hipMemcpyDeviceToDevice, stream));
  }
  WT_HIP(hipMemcpyAsync(pinned_out, a, bytes, hipMemcpyDeviceToHost, stream));
  WT_HIP(hipStreamSynchronize(stream));
  bool right = true;
  for (int i = 0; i < count; ++i) right = right && pinned_out[i] == i * 7 + 40;
  check::expect(right, "40 copies and kernels in order");

  // Piece by piece, each from another offset.
  std::memset(pinned_out, 0, bytes);
  const int pieces = 100, piece = count / pieces;
  for (int p = 0; p < pieces; ++p) {
    WT_HIP(hipMemcpyAsync(b.get() + p * piece, a.get() + (pieces - 1 - p) * piece,
                          piece * sizeof(int), hipMemcpyDeviceToDevice, stream));
  }
  WT_HIP(hipMemcpyDtoHAsync(pinned_out, b.get(), bytes, stream));
  WT_HIP(hipStreamSynchronize(stream));
  right = true;
  for (int i = 0; i < count; ++i)
    right = right && pinned_out[i] == ((pieces - 1 - i / piece) * piece + i % piece) * 7 + 40;
  check::expect(right, "100 pieces in reverse order");

  std::vector<int> pageable(count, 5), back(count);
  WT_HIP(hipMemcpyAsync(a, pageable.data(), bytes, hipMemcpyHostToDevice, stream));
  increment<<<check::blocks_for(count, 256), 256, 0, stream>>>(a, count);
  WT_HIP(hipMemcpyAsync(back.data(), a, bytes, hipMemcpyDeviceToHost, stream));
  WT_HIP(hipStreamSynchronize(stream));
  check::equal("pageable memory on a stream", back, std::vector<int>(count, 6));
  WT_HIP(hipMemcpyWithStream(back.data(), b, bytes, hipMemcpyDeviceToHost, stream));
  check::equal("hipMemcpyWithStream waits", back, std::vector<int>(pinned_out, pinned_out + count));
  WT_HIP(hipHostFree(pinned_in));
  WT_HIP(hipHostFree(pinned_out));
  WT_HIP(hipStreamDestroy(stream));
  return check::finish();
}
