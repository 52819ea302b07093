// Writes that miss their buffer and hit another one. As ROCr places memory, nobody notices: the
// neighbour is overwritten, and so is the memory that a freed buffer's address now belongs to. With
// `--gpu-option guard-allocations` both must be page faults; `stray_writes overrun` and `stray_writes
// freed` are for that.
#include <cstdlib>

#include "check.h"

__global__ void poke(int* data, long index) { data[index] = 7; }

constexpr size_t kBytes = 256;
// Far beyond the end, and still inside the 2 MiB that ROCr takes from the driver at a time.
constexpr long kFar = (1 << 20) / sizeof(int);

int* allocate() {
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, kBytes));
  WT_HIP(hipMemset(data, 0, kBytes));
  return data;
}

void write(int* data, long index) {
  poke<<<1, 1>>>(data, index);
  WT_HIP(hipDeviceSynchronize());
}

int first_word(const int* data) {
  int value = 0;
  WT_HIP(hipMemcpy(&value, data, sizeof value, hipMemcpyDeviceToHost));
  return value;
}

void unnoticed() {
  int* buffer = allocate();
  int* neighbour = allocate();
  const long distance = neighbour - buffer;
  if (std::labs(distance) <= kFar) {
    write(buffer, distance);
    check::expect(first_word(neighbour) == 7, "the neighbour %ld words away is overwritten",
                  distance);
  } else {
    check::expect(true, "the neighbour is %ld words away", distance);
  }
  WT_HIP(hipFree(buffer));
  int* next = allocate();
  if (next == buffer) {
    write(buffer, 0);
    check::expect(first_word(next) == 7, "what took a freed buffer's place is overwritten");
  } else {
    check::expect(true, "a freed buffer's address is not used again at once");
  }
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "overrun") {
    int* buffer = allocate();
    allocate();
    write(buffer, kFar);
    check::expect(false, "a write far behind the buffer was not noticed");
  } else if (how == "freed") {
    int* buffer = allocate();
    WT_HIP(hipFree(buffer));
    allocate();
    write(buffer, 0);
    check::expect(false, "a write to a freed buffer was not noticed");
  } else {
    unnoticed();
  }
  return check::finish();
}
