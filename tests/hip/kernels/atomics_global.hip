// Every HIP atomic of every type on global memory, with and without a used result.
#include "kernels/atomics.h"

constexpr size_t kOperands = 700;
constexpr size_t kCells = 3;

template <class Op, class T>
__global__ void apply(T* cells, const T* operands, T* olds, int count, int cell_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) olds[i] = Op::device(&cells[i % cell_count], operands[i]);
}

// The result is dropped, which selects the no-return form of the instruction.
template <class Op, class T>
__global__ void apply_no_return(T* cells, const T* operands, int count, int cell_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) Op::device(&cells[i % cell_count], operands[i]);
}

template <class Op, class T>
void run(const char* type_name, T start, const std::vector<T>& operands, Order order) {
  const int count = static_cast<int>(operands.size());
  std::vector<T> returning_cells;
  check_atomic<Op, T>(
      type_name, start, operands, kCells, order,
      [&](std::vector<T>& cells, const std::vector<T>& values, std::vector<T>& olds) {
        check::Buffer<T> device_cells(cells), device_values(values), device_olds(olds.size());
        apply<Op, T><<<check::blocks_for(count, 192), 192>>>(device_cells, device_values,
                                                             device_olds, count, kCells);
        check::sync();
        cells = returning_cells = device_cells.read();
        olds = device_olds.read();
      });
  if (std::string(Op::kName) == "Exch") return;
  check::Buffer<T> cells(std::vector<T>(kCells, start)), values(operands);
  apply_no_return<Op, T><<<check::blocks_for(count, 64), 64>>>(cells, values, count, kCells);
  check::sync();
  check::equal((std::string(Op::kName) + " " + type_name + " without a result").c_str(),
               cells.read(), returning_cells);
}

template <class T>
void run_integer(const char* name) {
  run<Add, T>(name, T(5), distinct_operands<T>(kOperands), Order::kChain);
  run<Sub, T>(name, T(5), distinct_operands<T>(kOperands), Order::kChain);
  run<Min, T>(name, T(T(~T(0)) > 0 ? T(~T(0)) : T(0x7fffffff)), random_bits<T>(kOperands),
              Order::kMonotone);
  run<Max, T>(name, T(T(~T(0)) > 0 ? T(0) : T(1) << (8 * sizeof(T) - 1)), random_bits<T>(kOperands),
              Order::kMonotone);
  run<And, T>(name, T(~T(0)), random_bits<T>(6), Order::kMonotone);
  run<Or, T>(name, T(0), random_bits<T>(6), Order::kMonotone);
  run<Xor, T>(name, T(0x1234567), random_bits<T>(kOperands), Order::kChain);
  run<Exch, T>(name, T(0), distinct_operands<T>(kOperands), Order::kChain);
  run<Cas, T>(name, T(1), distinct_operands<T>(300), Order::kChain);
}

template <class T>
void run_floating(const char* name) {
  run<Add, T>(name, T(0), distinct_operands<T>(kOperands), Order::kChain);
  run<Sub, T>(name, T(0), distinct_operands<T>(kOperands), Order::kChain);
  run<Exch, T>(name, T(0), distinct_operands<T>(kOperands), Order::kChain);
  run<Cas, T>(name, T(1), distinct_operands<T>(300), Order::kChain);
  std::vector<T> signed_values = distinct_operands<T>(kOperands);
  for (size_t i = 0; i < signed_values.size(); i += 2) signed_values[i] = -signed_values[i];
  run<Min, T>(name, T(1e9), signed_values, Order::kMonotone);
  run<Max, T>(name, T(-1e9), signed_values, Order::kMonotone);
}

#pragma clang diagnostic ignored "-Wdeprecated-declarations"
__global__ void add_without_return(float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAddNoRet(sum, 0.5f);
}

int main() {
  run_integer<int>("int");
  run_integer<unsigned>("unsigned");
  run_integer<unsigned long>("unsigned long");
  run_integer<unsigned long long>("unsigned long long");
  run_floating<float>("float");
  run_floating<double>("double");
  run<Inc, unsigned>("unsigned", 2u, std::vector<unsigned>(kOperands, 6u), Order::kReplay);
  run<Inc, unsigned>("unsigned, above the limit", 9u, std::vector<unsigned>(kOperands, 6u),
                     Order::kReplay);
  run<Dec, unsigned>("unsigned", 2u, std::vector<unsigned>(kOperands, 6u), Order::kReplay);
  run<Dec, unsigned>("unsigned, above the limit", 9u, std::vector<unsigned>(kOperands, 6u),
                     Order::kReplay);
  check::Buffer<float> sum(std::vector<float>(1, 1.0f));
  add_without_return<<<5, 100>>>(sum, 450);
  check::sync();
  check::equal("atomicAddNoRet", sum.read()[0], 226.0f);
  return check::finish();
}
