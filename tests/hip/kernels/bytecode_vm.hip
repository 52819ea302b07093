// A small stack machine interpreted by every lane with a different program: switch-heavy, fully
// divergent control flow over scratch memory. The host runs the same interpreter.
#include "check.h"

enum Op : uint8_t {
  kPush,
  kAdd,
  kSub,
  kMul,
  kXor,
  kShl,
  kShr,
  kDup,
  kSwap,
  kJumpIfZero,
  kLoad,
  kStore,
  kNot,
  kMin,
  kHalt,
  kOps
};

constexpr int kLength = 48;

__host__ __device__ uint32_t interpret(const uint8_t* code, uint32_t seed) {
  uint32_t stack[16] = {};
  uint32_t memory[8] = {seed, seed * 3, 5, 7};
  unsigned top = 0;
  for (int pc = 0, steps = 0; pc < kLength && steps < 200; ++pc, ++steps) {
    const uint8_t byte = code[pc];
    uint32_t& first = stack[top & 15];
    uint32_t& second = stack[(top - 1) & 15];
    switch (byte % kOps) {
      case kPush: stack[++top & 15] = byte * 2654435761u + seed; break;
      case kAdd:
        second += first;
        --top;
        break;
      case kSub:
        second -= first;
        --top;
        break;
      case kMul:
        second *= first | 1;
        --top;
        break;
      case kXor:
        second ^= first;
        --top;
        break;
      case kShl: first <<= byte & 31; break;
      case kShr: first >>= byte >> 4; break;
      case kDup:
        stack[(top + 1) & 15] = first;
        ++top;
        break;
      case kSwap: {
        const uint32_t kept = first;
        first = second;
        second = kept;
        break;
      }
      case kJumpIfZero:
        if ((first & 3) == 0) {
          pc = (pc + byte) % kLength;
          first += 1;
        }
        break;
      case kLoad:
        stack[(top + 1) & 15] = memory[first & 7];
        ++top;
        break;
      case kStore: memory[second & 7] = first; break;
      case kNot: first = ~first; break;
      case kMin:
        second = second < first ? second : first;
        --top;
        break;
      default:
        if (seed % 3 == 0) return stack[top & 15] ^ steps;
        break;
    }
  }
  uint32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum = sum * 31 + stack[i];
  for (int i = 0; i < 8; ++i) sum = sum * 31 + memory[i];
  return sum;
}

__global__ void run(const uint8_t* programs, uint32_t* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = interpret(programs + i % 61 * kLength, static_cast<uint32_t>(i));
}

int main() {
  const int count = 400;
  check::Rng rng(255);
  std::vector<uint8_t> programs(61 * kLength);
  for (uint8_t& b : programs) b = static_cast<uint8_t>(rng.next());
  std::vector<uint32_t> want(count);
  for (int i = 0; i < count; ++i)
    want[i] = interpret(&programs[i % 61 * kLength], static_cast<uint32_t>(i));
  check::Buffer<uint8_t> device_programs(programs);
  check::Buffer<uint32_t> out(count);
  run<<<check::blocks_for(count, 64), 64>>>(device_programs, out, count);
  check::sync();
  check::equal("400 programs", out.read(), want);
  return check::finish();
}
