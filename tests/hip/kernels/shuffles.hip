// __shfl, __shfl_up, __shfl_down and __shfl_xor for every type and width, whatever the wave size.
#include "check.h"

enum Kind { kIndex, kUp, kDown, kXor, kKinds };
const char* const kKindNames[] = {"shfl", "shfl_up", "shfl_down", "shfl_xor"};

template <class T>
__global__ void shuffle(const T* in, T* out, int kind, int argument, int width) {
  const int i = threadIdx.x;
  const T value = in[i];
  T result = value;
  switch (kind) {
    case kIndex: result = __shfl(value, (argument + i / 3) % width, width); break;
    case kUp: result = __shfl_up(value, argument, width); break;
    case kDown: result = __shfl_down(value, argument, width); break;
    case kXor: result = __shfl_xor(value, argument, width); break;
  }
  out[i] = result;
}

// The documented meaning, on a whole block.
template <class T>
T reference(const std::vector<T>& in, int i, int kind, int argument, int width) {
  const int base = i / width * width, lane = i % width;
  int source = lane;
  switch (kind) {
    case kIndex: source = (argument + i / 3) % width; break;
    case kUp: source = lane - argument < 0 ? lane : lane - argument; break;
    case kDown: source = lane + argument >= width ? lane : lane + argument; break;
    case kXor: source = (lane ^ argument) >= width ? lane : lane ^ argument; break;
  }
  return in[base + source];
}

template <class T>
void run(const char* type_name) {
  const int wave = check::wave_size(), count = 3 * 64;
  check::Rng rng(sizeof(T));
  std::vector<T> in(count);
  for (T& v : in) v = static_cast<T>(rng.next64() >> 1);
  check::Buffer<T> device_in(in), out(count);
  for (int kind = 0; kind < kKinds; ++kind) {
    bool ok = true;
    for (int width = 2; width <= wave; width *= 2) {
      for (int argument = 0; argument < width; argument += 1 + argument / 3) {
        shuffle<<<1, count>>>(device_in.get(), out.get(), kind, argument, width);
        const std::vector<T> got = out.read();
        for (int i = 0; i < count; ++i) {
          const T want = reference(in, i, kind, argument, width);
          ok = ok && std::memcmp(&got[i], &want, sizeof want) == 0;
        }
      }
    }
    check::expect(ok, "%s of %s, widths 2 to %d", kKindNames[kind], type_name, wave);
  }
}

// Lanes that take part are the active ones: the others' registers still hold their own values.
__global__ void shuffle_in_branch(int* out) {
  const int lane = threadIdx.x % warpSize;
  int value = threadIdx.x * 10;
  if (lane % 2 == 0) value = __shfl(value, (lane + 2) % warpSize);
  out[threadIdx.x] = value;
}

int main() {
  run<int>("int");
  run<unsigned>("unsigned");
  run<float>("float");
  run<double>("double");
  run<long long>("long long");
  run<unsigned long long>("unsigned long long");
  const int wave = check::wave_size();
  check::Buffer<int> out(wave);
  shuffle_in_branch<<<1, wave>>>(out);
  check::sync();
  std::vector<int> want(wave);
  for (int i = 0; i < wave; ++i) want[i] = i % 2 == 0 ? (i + 2) % wave * 10 : i * 10;
  check::equal("among even lanes only", out.read(), want);
  return check::finish();
}
