// Managed memory: host and device take turns without copies, linked structures keep their pointers,
// prefetch and advice are accepted, __managed__ variables work.
#include "check.h"

struct Node {
  int value;
  Node* next;
};

__managed__ int g_managed_counter = 5;
__managed__ float g_managed_array[256];

__global__ void grow(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = data[i] * 2 + 1;
}

__global__ void sum_list(const Node* head, int* sum) {
  *sum = 0;
  for (const Node* node = head; node != nullptr; node = node->next) *sum += node->value;
}

__global__ void use_managed_variables() {
  g_managed_array[threadIdx.x] = threadIdx.x * 0.5f;
  if (threadIdx.x == 0) g_managed_counter += 10;
}

int main() {
  const int count = 10000;
  int* data = nullptr;
  WT_HIP(hipMallocManaged(&data, count * sizeof(int)));
  for (int i = 0; i < count; ++i) data[i] = i;
  for (int turn = 0; turn < 3; ++turn) {
    grow<<<check::blocks_for(count, 256), 256>>>(data, count);
    check::sync();
    for (int i = 0; i < count; ++i) data[i] += 1;  // the host's turn
  }
  bool right = true;
  for (int i = 0; i < count; ++i) right = right && data[i] == ((i * 2 + 2) * 2 + 2) * 2 + 2;
  check::expect(right, "host and device take turns");
  const hipError_t prefetch = hipMemPrefetchAsync(data, count * sizeof(int), 0, nullptr);
  const hipError_t advice = hipMemAdvise(data, count * sizeof(int), hipMemAdviseSetReadMostly, 0);
  (void)hipGetLastError();
  check::expect(prefetch == hipSuccess || prefetch == hipErrorInvalidValue, "prefetch: %s",
                hipGetErrorName(prefetch));
  check::expect(advice == hipSuccess || advice == hipErrorInvalidValue, "advice: %s",
                hipGetErrorName(advice));
  WT_HIP(hipFree(data));

  Node* nodes = nullptr;
  int* sum = nullptr;
  WT_HIP(hipMallocManaged(&nodes, 50 * sizeof(Node)));
  WT_HIP(hipMallocManaged(&sum, sizeof(int)));
  for (int i = 0; i < 50; ++i) nodes[i] = {i * i, i + 1 < 50 ? &nodes[i + 1] : nullptr};
  sum_list<<<1, 1>>>(nodes, sum);
  check::sync();
  check::equal("a linked list built by the host", *sum, 49 * 50 * 99 / 6);
  WT_HIP(hipFree(nodes));
  WT_HIP(hipFree(sum));

  // From HIP 7 on such variables need a device that shares the host's addresses; older ones do
  // without.
  int shares_addresses = 0;
  WT_HIP(hipDeviceGetAttribute(&shares_addresses, hipDeviceAttributeManagedMemory, 0));
  if (HIP_VERSION_MAJOR >= 7 && shares_addresses == 0) return check::finish();
  g_managed_counter += 1;
  use_managed_variables<<<1, 256>>>();
  check::sync();
  check::equal("a __managed__ counter", g_managed_counter, 16);
  check::equal("a __managed__ array", g_managed_array[100], 50.0f);
  return check::finish();
}
