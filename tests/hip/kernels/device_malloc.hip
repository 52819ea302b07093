// malloc, free, new and delete in kernels: blocks of every size are distinct, keep their contents,
// and survive until another kernel frees them.
#include <set>

#include "check.h"

struct Node {
  int value;
  Node* next;
};

__global__ void build_lists(Node** heads, int length, int* failures) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Node* head = nullptr;
  for (int n = 0; n < length; ++n) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) {
      atomicAdd(failures, 1);
      break;
    }
    node->value = i * 1000 + n;
    node->next = head;
    head = node;
  }
  heads[i] = head;
}

__global__ void sum_and_free(Node** heads, long long* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  long long sum = 0;
  Node* node = heads[i];
  while (node != nullptr) {
    sum += node->value;
    Node* next = node->next;
    free(node);
    node = next;
  }
  sums[i] = sum;
}

__global__ void varied_sizes(unsigned long long* addresses, int* intact) {
  const int i = threadIdx.x;
  const int bytes = 8 + i * 24;
  unsigned char* block = static_cast<unsigned char*>(malloc(bytes));
  addresses[i] = reinterpret_cast<unsigned long long>(block);
  if (block == nullptr) return;
  for (int b = 0; b < bytes; ++b) block[b] = static_cast<unsigned char>(i * 7 + b);
  __syncthreads();
  bool ok = true;
  for (int b = 0; b < bytes; ++b) ok = ok && block[b] == static_cast<unsigned char>(i * 7 + b);
  intact[i] = ok;
  free(block);
}

int main() {
  const int lanes = 96, length = 8;
  check::Buffer<Node*> heads(lanes);
  check::Buffer<long long> sums(lanes);
  check::Buffer<int> failures(1);
  failures.fill_bytes(0);
  build_lists<<<3, 32>>>(heads, length, failures);
  check::sync();
  std::set<Node*> distinct;
  for (Node* head : heads.read()) distinct.insert(head);
  check::equal("failed allocations", failures.read()[0], 0);
  check::equal("distinct list heads", distinct.size(), size_t{lanes});
  sum_and_free<<<3, 32>>>(heads, sums);
  check::sync();
  std::vector<long long> want(lanes);
  for (int i = 0; i < lanes; ++i) want[i] = 1000ll * i * length + length * (length - 1) / 2;
  check::equal("list sums", sums.read(), want);

  check::Buffer<unsigned long long> addresses(64);
  check::Buffer<int> intact(64);
  intact.fill_bytes(0);
  varied_sizes<<<1, 64>>>(addresses, intact);
  check::sync();
  check::equal("blocks of 8 to 1520 bytes keep their contents", intact.read(),
               std::vector<int>(64, 1));
  std::set<unsigned long long> starts;
  for (unsigned long long a : addresses.read()) starts.insert(a);
  check::equal("and do not coincide", starts.size(), size_t{64});
  return check::finish();
}
