// clock64, wall_clock64 and the real-time counter move forward, and the constant-rate one keeps
// pace with the host's clock at the rate the device reports.
#include <chrono>

#include "check.h"

// Counts at 100 MHz whatever the engine's clock does.
__device__ unsigned long long constant_rate_counter() {
#if defined(__gfx1100__)
  return __builtin_amdgcn_s_sendmsg_rtnl(0x83);  // MSG_RTN_GET_REALTIME
#else
  return __builtin_amdgcn_s_memrealtime();
#endif
}

// gfx11 has 20 bits of clock64(), which come round within milliseconds.
bool is_clock_short() { return check::target() == "gfx1100"; }

__global__ void spin(long long* out, int turns) {
  const long long start = clock64();
  const unsigned long long wall_start = constant_rate_counter();
  float value = threadIdx.x;
  for (int i = 0; i < turns; ++i) value = value * 1.0001f + 0.5f;
  out[0] = start;
  out[1] = clock64();
  out[2] = static_cast<long long>(wall_start);
  out[3] = static_cast<long long>(constant_rate_counter());
  out[4] = static_cast<long long>(value);
}

int main() {
  check::Buffer<long long> out(5);
  const auto before = std::chrono::steady_clock::now();
  spin<<<1, 1>>>(out, 20000);
  check::sync();
  const double host_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const std::vector<long long> t = out.read();
  check::expect(is_clock_short() ? t[1] != t[0] : t[1] > t[0], "clock64 advanced by %lld",
                t[1] - t[0]);
  check::expect(t[3] > t[2], "the real-time counter advanced by %lld", t[3] - t[2]);
  // 100 MHz; the kernel cannot have taken longer than the host waited for it.
  const double device_seconds = static_cast<double>(t[3] - t[2]) / 1e8;
  check::expect(device_seconds > 0 && device_seconds < host_seconds,
                "%.6f s on the device within %.6f s on the host", device_seconds, host_seconds);
  check::expect(t[4] != 0, "the loop was not removed");
  std::vector<long long> later;
  spin<<<1, 1>>>(out, 10);
  check::sync();
  later = out.read();
  check::expect(later[2] > t[3] && (is_clock_short() || later[0] > t[1]),
                "a later kernel reads later clocks");
  return check::finish();
}
