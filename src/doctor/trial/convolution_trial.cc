// Convolutions, in single and half precision: what code of another chip breaks first.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "doctor/trial/hip_session.h"
#include "doctor/trial/trials.h"

namespace wavetap::doctor::trial {
namespace {

// The value of channel c at pixel i; small integers, exact in half precision.
float pixel(size_t i, int c) {
  return static_cast<float>((i * 3 + static_cast<size_t>(c) * 5) % 9) - 4;
}
float weight(int k, int c) { return static_cast<float>((k + c) % 5) - 2; }

uint16_t to_half(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float mantissa = std::frexp(std::abs(value), &exponent);  // [0.5, 1)
  const auto bits =
      static_cast<uint16_t>((exponent + 14) << 10 | (static_cast<int>(mantissa * 2048) & 0x3ff));
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

float convolved(int n, size_t i, int channels) {
  const int y = static_cast<int>(i) / n, x = static_cast<int>(i) % n;
  float sum = 0;
  for (int k = 0; k < 9; ++k) {
    const int sy = y + k / 3 - 1, sx = x + k % 3 - 1;
    if (sy < 0 || sy >= n || sx < 0 || sx >= n) continue;
    for (int c = 0; c < channels; ++c)
      sum += pixel(static_cast<size_t>(sy * n + sx), c) * weight(k, c);
  }
  return sum;
}

Verdict convolution(int size, bool half) {
  Session session;
  session.load();
  const auto count = static_cast<size_t>(size * size);
  const int channels = half ? 2 : 1;
  void *in = nullptr, *kernel = nullptr;
  if (half) {
    std::vector<uint16_t> image, filter;
    for (size_t i = 0; i < count; ++i)
      image.insert(image.end(), {to_half(pixel(i, 0)), to_half(pixel(i, 1))});
    for (int k = 0; k < 9; ++k)
      filter.insert(filter.end(), {to_half(weight(k, 0)), to_half(weight(k, 1))});
    in = session.upload(image), kernel = session.upload(filter);
  } else {
    std::vector<float> image, filter;
    for (size_t i = 0; i < count; ++i) image.push_back(pixel(i, 0));
    for (int k = 0; k < 9; ++k) filter.push_back(weight(k, 0));
    in = session.upload(image), kernel = session.upload(filter);
  }
  void* out = session.device_memory(count * 4);
  auto n = static_cast<uint32_t>(size);
  session.launch(half ? "conv_f16" : "conv_f32", static_cast<unsigned>((count + 63) / 64), 64,
                 {&n, &in, &kernel, &out});
  return compare<float>(
      session, session.download<float>(out, count),
      [&](size_t i) { return convolved(size, i, channels); },
      fmt::format("{0} x {0} convolution in {1} precision", size, half ? "half" : "single"));
}

}  // namespace

Verdict try_conv() {
  // The sizes at which libraries change their algorithm; half precision is where dot products come
  // in.
  for (const bool half : {false, true}) {
    for (const int size : {16, 32, 44, 64}) {
      const Verdict verdict = convolution(size, half);
      if (verdict.outcome != Outcome::kPassed) return verdict;
    }
  }
  return passed("convolutions from 16 x 16 to 64 x 64, single and half precision");
}

}  // namespace wavetap::doctor::trial
