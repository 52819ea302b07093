// Virtual memory management, where the runtime supports it: an address range reserved apart from
// the memory behind it, pieces of memory mapped side by side, a piece moved to another address,
// another put in its place.
#include "check.h"

__global__ void add(int* data, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] += value;
}

std::vector<int> download(const void* from, size_t count) {
  std::vector<int> values(count);
  WT_HIP(hipMemcpy(values.data(), from, count * sizeof(int), hipMemcpyDeviceToHost));
  return values;
}

int main() {
  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = 0;
  size_t piece = 0;
  void* base = nullptr;
  // In HIP 5 these calls succeed and do nothing.
  if (HIP_VERSION_MAJOR < 6) check::skip("no virtual memory management in this runtime");
  WT_HIP(hipMemGetAllocationGranularity(&piece, &properties, hipMemAllocationGranularityMinimum));
  WT_HIP(hipMemAddressReserve(&base, 2 * piece, 0, nullptr, 0));
  check::expect(base != nullptr, "two pieces of %zu bytes are reserved", piece);

  hipMemGenericAllocationHandle_t first, second;
  WT_HIP(hipMemCreate(&first, piece, &properties, 0));
  WT_HIP(hipMemCreate(&second, piece, &properties, 0));
  char* const low = static_cast<char*>(base);
  char* const high = low + piece;
  WT_HIP(hipMemMap(low, piece, 0, first, 0));
  WT_HIP(hipMemMap(high, piece, 0, second, 0));
  hipMemAccessDesc access{};
  access.location = properties.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  WT_HIP(hipMemSetAccess(base, 2 * piece, &access, 1));

  // One kernel over both pieces: they are neighbours in the reserved range.
  const int count = static_cast<int>(2 * piece / sizeof(int));
  const int half = count / 2;
  std::vector<int> want(count);
  for (int i = 0; i < count; ++i) want[i] = i ^ 0x5a5a;
  WT_HIP(hipMemcpy(base, want.data(), 2 * piece, hipMemcpyHostToDevice));
  add<<<check::blocks_for(count, 256), 256>>>(static_cast<int*>(base), count, 3);
  check::sync();
  for (int& v : want) v += 3;
  check::equal("both pieces through one range", download(base, count), want);

  // The second piece moves to another address and takes its contents along.
  WT_HIP(hipMemUnmap(high, piece));
  void* elsewhere = nullptr;
  WT_HIP(hipMemAddressReserve(&elsewhere, piece, 0, nullptr, 0));
  WT_HIP(hipMemMap(elsewhere, piece, 0, second, 0));
  WT_HIP(hipMemSetAccess(elsewhere, piece, &access, 1));
  add<<<check::blocks_for(half, 256), 256>>>(static_cast<int*>(elsewhere), half, 1);
  check::sync();
  std::vector<int> upper(want.begin() + half, want.end());
  for (int& v : upper) ++v;
  check::equal("the second piece at its new address", download(elsewhere, half), upper);

  // The vacated half takes new memory; the first half has kept its own.
  hipMemGenericAllocationHandle_t third;
  WT_HIP(hipMemCreate(&third, piece, &properties, 0));
  WT_HIP(hipMemMap(high, piece, 0, third, 0));
  WT_HIP(hipMemSetAccess(high, piece, &access, 1));
  WT_HIP(hipMemset(high, 0, piece));
  WT_HIP(hipDeviceSynchronize());
  std::vector<int> mixed(want.begin(), want.begin() + half);
  mixed.resize(count, 0);
  check::equal("new memory in the vacated half", download(base, count), mixed);

  unsigned long long flags = 0;
  WT_HIP(hipMemGetAccess(&flags, &access.location, base));
  check::equal("access of the first piece", flags,
               static_cast<unsigned long long>(hipMemAccessFlagsProtReadWrite));

  WT_HIP(hipMemUnmap(low, piece));
  WT_HIP(hipMemUnmap(high, piece));
  WT_HIP(hipMemUnmap(elsewhere, piece));
  WT_HIP(hipMemRelease(first));
  WT_HIP(hipMemRelease(second));
  WT_HIP(hipMemRelease(third));
  WT_HIP(hipMemAddressFree(base, 2 * piece));
  WT_HIP(hipMemAddressFree(elsewhere, piece));
  return check::finish();
}
