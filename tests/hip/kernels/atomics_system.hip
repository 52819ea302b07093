// System-scope atomics on pinned host memory: alone, and against a host thread that adds to the
// same counter while the kernel runs.
#include <atomic>
#include <thread>

#include "kernels/atomics.h"

constexpr size_t kOperands = 400;
constexpr size_t kCells = 2;

template <class Op, class T>
__global__ void apply(T* cells, const T* operands, T* olds, int count, int cell_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) olds[i] = Op::device(&cells[i % cell_count], operands[i]);
}

template <class Op, class T>
void run(const char* type_name, T start, const std::vector<T>& operands, Order order) {
  const int count = static_cast<int>(operands.size());
  check_atomic<Op, T>(
      type_name, start, operands, kCells, order,
      [&](std::vector<T>& cells, const std::vector<T>& values, std::vector<T>& olds) {
        T* pinned = nullptr;
        WT_HIP(hipHostMalloc(&pinned, kCells * sizeof(T), hipHostMallocCoherent));
        std::copy(cells.begin(), cells.end(), pinned);
        check::Buffer<T> device_values(values), device_olds(olds.size());
        apply<Op, T><<<check::blocks_for(count, 128), 128>>>(pinned, device_values, device_olds,
                                                             count, kCells);
        check::sync();
        std::copy(pinned, pinned + kCells, cells.begin());
        olds = device_olds.read();
        WT_HIP(hipHostFree(pinned));
      });
}

template <class T>
void run_type(const char* name) {
  run<AddSystem, T>(name, T(1), distinct_operands<T>(kOperands), Order::kChain);
  run<SubSystem, T>(name, T(1), distinct_operands<T>(kOperands), Order::kChain);
  run<MinSystem, T>(name, T(0x7fffffff), distinct_operands<T>(kOperands), Order::kMonotone);
  run<MaxSystem, T>(name, T(0), distinct_operands<T>(kOperands), Order::kMonotone);
  run<ExchSystem, T>(name, T(0), distinct_operands<T>(kOperands), Order::kChain);
  if constexpr (std::is_integral_v<T>) {
    run<AndSystem, T>(name, T(~T(0)), random_bits<T>(5), Order::kMonotone);
    run<OrSystem, T>(name, T(0), random_bits<T>(5), Order::kMonotone);
    run<XorSystem, T>(name, T(77), random_bits<T>(kOperands), Order::kChain);
  }
}

__global__ void add_many(unsigned* counter, int times) {
  for (int i = 0; i < times; ++i) atomicAdd_system(counter, 1u);
}

void run_against_host() {
  unsigned* counter = nullptr;
  WT_HIP(hipHostMalloc(&counter, sizeof *counter, hipHostMallocCoherent));
  *counter = 0;
  const int lanes = 256, device_times = 20, host_times = 50000;
  add_many<<<lanes / 64, 64>>>(counter, device_times);
  std::thread host([&] {
    for (int i = 0; i < host_times; ++i) __atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED);
  });
  host.join();
  check::sync();
  check::equal("device and host add to one counter", *counter,
               static_cast<unsigned>(lanes * device_times + host_times));
  WT_HIP(hipHostFree(counter));
}

int main() {
  run_type<int>("int");
  run_type<unsigned>("unsigned");
  run_type<unsigned long long>("unsigned long long");
  run_type<float>("float");
  run_type<double>("double");
  run_against_host();
  return check::finish();
}
