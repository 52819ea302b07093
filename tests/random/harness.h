// Runs generated kernels: the same statements are compiled for the device, as kernels, and for the
// host, as plain functions applied lane by lane; the results must be equal bit for bit.
//
// A generated kernel is a list of phases. A phase touches only its lane's State, its lane's slots,
// constant inputs, and shared counters (by commutative addition), so on the host lanes may run one
// after another. Between phases lanes exchange values through LDS, shuffles or ballots; there the
// host works on all lanes of a block at once. Floating point is limited to operations that IEEE 754
// defines exactly, contraction is off, and NaNs are made uniform before comparison.
#pragma once

#include <string>

#include "check.h"
#include "images.h"
#include "special.h"
#include "tiles.h"

#define WT_CALL __host__ __device__ __attribute__((noinline))

constexpr int kInputWords = 256;
constexpr int kSlotBytes = 32;
constexpr int kCounters = 8;
constexpr int kMaxBlock = 128;

// The variables of a generated program, one set per lane.
struct State {
  int32_t i0, i1, i2, i3;
  uint32_t u0, u1, u2, u3;
  int64_t l0, l1;
  uint64_t q0, q1;
  float f0, f1, f2;
  uint32_t pad0;  // keeps the doubles aligned without hidden bytes
  double d0, d1;
  _Float16 h0, h1;
  uint32_t pad1;
};
static_assert(sizeof(State) == 96 + 8,
              "State has no hidden padding, because it is compared as bytes");

// What a lane can reach.
struct Env {
  const uint32_t* in;            // kInputWords, read only
  uint8_t* slots;                // kSlotBytes of this lane
  uint32_t* counters;            // kCounters, shared by all lanes, only added to
  uint32_t lane;                 // within the whole grid
  uint8_t* all_slots = nullptr;  // of every lane; a lane touches only its own
  uint32_t all_bytes = 0;
};

template <class T>
WT_BOTH inline T load(const void* base, uint32_t index) {
  T value;
  __builtin_memcpy(&value, static_cast<const T*>(base) + index, sizeof value);
  return value;
}
template <class T>
WT_BOTH inline void store(void* base, uint32_t index, T value) {
  __builtin_memcpy(static_cast<T*>(base) + index, &value, sizeof value);
}

WT_BOTH inline void count(const Env& env, uint32_t which, uint32_t by) {
#if defined(__HIP_DEVICE_COMPILE__)
  atomicAdd(&env.counters[which % kCounters], by);
#else
  env.counters[which % kCounters] += by;
#endif
}

// The same value, of which the device's compiler knows nothing. Before LLVM 20, clang divides
// unsigned values by way of floats when their high bits are known to be equal, and so takes a
// sign-extended negative value for a small one: uint64_t(int16_t(-6523)) / 3 becomes 0x4d00, on
// every GPU (llvm/llvm-project#116733).
template <class T>
WT_BOTH inline T opaque(T value) {
#if defined(__HIP_DEVICE_COMPILE__)
  asm("" : "+v"(value));
#endif
  return value;
}

// Divisions and conversions with every undefined case given a value.
template <class T>
WT_BOTH inline T safe_div(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed<T>::value && b == T(-1)) return T(0 - static_cast<uint64_t>(a));
  return std::is_signed<T>::value ? a / b : opaque(a) / b;
}
template <class T>
WT_BOTH inline T safe_mod(T a, T b) {
  if (b == 0 || (std::is_signed<T>::value && b == T(-1))) return a;
  return std::is_signed<T>::value ? a % b : opaque(a) % b;
}
WT_BOTH inline uint32_t below(uint32_t bound, uint32_t value) { return opaque(value) % bound; }
WT_BOTH inline int32_t to_i32(double v) {
  return v > -2e9 && v < 2e9 ? static_cast<int32_t>(v) : 7;
}
WT_BOTH inline uint32_t to_u32(float v) {
  return v >= 0.0f && v < 4e9f ? static_cast<uint32_t>(v) : 9u;
}
WT_BOTH inline int64_t to_i64(double v) {
  return v > -9e18 && v < 9e18 ? static_cast<int64_t>(v) : 11;
}
// Of a product the device's compiler makes one instruction, which until 2026 turned -0 into +0
// (llvm/llvm-project#214544).
WT_BOTH inline _Float16 to_half(float v) { return static_cast<_Float16>(opaque(v)); }
WT_BOTH inline uint32_t mul_high(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a} * b >> 32);
}
WT_BOTH inline uint32_t rotate(uint32_t v, uint32_t by) {
  return v << (by & 31) | v >> ((32 - by) & 31);
}
WT_BOTH inline uint32_t leading_zeros(uint32_t v) {
  return v == 0 ? 32u : static_cast<uint32_t>(__builtin_clz(v));
}
WT_BOTH inline uint32_t bits_of(float v) {
  if (v != v) return 0x7fc00000u;
  uint32_t bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  return bits;
}

WT_BOTH inline void start(State& s, const uint32_t* in, uint32_t lane) {
  const uint32_t mixed = (lane + 1) * 2654435761u;
  const uint32_t word = in[lane % kInputWords];
  s.i0 = static_cast<int32_t>(lane), s.i1 = static_cast<int32_t>(mixed),
  s.i2 = static_cast<int32_t>(word), s.i3 = -5;
  s.u0 = lane, s.u1 = mixed ^ word, s.u2 = word >> 7, s.u3 = 0x80000000u;
  s.l0 = static_cast<int64_t>(word) * static_cast<int32_t>(mixed),
  s.l1 = -static_cast<int64_t>(lane);
  s.q0 = uint64_t{mixed} << 32 | word, s.q1 = lane;
  s.f0 = static_cast<float>(lane) * 0.5f,
  s.f1 = static_cast<float>(static_cast<int32_t>(word)) * 0x1p-20f, s.f2 = 1.25f;
  s.d0 = static_cast<double>(s.l0) * 0x1p-30, s.d1 = static_cast<double>(lane) - 3.5;
  s.h0 = static_cast<_Float16>(static_cast<float>(lane & 63) * 0.25f),
  s.h1 = static_cast<_Float16>(-1.5f);
  s.pad0 = s.pad1 = 0;
}

// The payload and sign of a NaN are not defined; everything else is.
WT_BOTH inline void make_nans_uniform(State& s) {
  if (s.f0 != s.f0) s.f0 = __builtin_nanf("");
  if (s.f1 != s.f1) s.f1 = __builtin_nanf("");
  if (s.f2 != s.f2) s.f2 = __builtin_nanf("");
  if (s.d0 != s.d0) s.d0 = __builtin_nan("");
  if (s.d1 != s.d1) s.d1 = __builtin_nan("");
  if (s.h0 != s.h0) s.h0 = static_cast<_Float16>(0), s.pad1 |= 1;
  if (s.h1 != s.h1) s.h1 = static_cast<_Float16>(0), s.pad1 |= 2;
}

// Exchanges on the device; the host's twins below take the whole block.
__device__ inline uint32_t ballot_of_32(bool vote) {
  const uint64_t all = __ballot(vote);
  return static_cast<uint32_t>(all >> (__lane_id() & 32));
}

struct Block {
  State* lanes;
  int size;

  // lds[lane] = from; then to = lds[(lane * scale + shift) % size].
  template <class T>
  void exchange(T State::*from, T State::*to, int scale, int shift) const {
    std::vector<T> shared(size);
    for (int l = 0; l < size; ++l) shared[l] = lanes[l].*from;
    for (int l = 0; l < size; ++l) lanes[l].*to = shared[(l * scale + shift) % size];
  }
  template <class T>
  void shuffle_xor(T State::*from, T State::*to, int mask, int width) const {
    std::vector<T> shared(size);
    for (int l = 0; l < size; ++l) shared[l] = lanes[l].*from;
    for (int l = 0; l < size; ++l) lanes[l].*to = shared[l / width * width + (l % width ^ mask)];
  }
  template <class T>
  void shuffle_up(T State::*from, T State::*to, int delta, int width) const {
    std::vector<T> shared(size);
    for (int l = 0; l < size; ++l) shared[l] = lanes[l].*from;
    for (int l = 0; l < size; ++l) lanes[l].*to = shared[l % width >= delta ? l - delta : l];
  }
  template <class T>
  void shuffle_index(T State::*from, T State::*to, int scale, int shift, int width) const {
    std::vector<T> shared(size);
    for (int l = 0; l < size; ++l) shared[l] = lanes[l].*from;
    for (int l = 0; l < size; ++l)
      lanes[l].*to = shared[l / width * width + (l * scale + shift) % width];
  }
  // to = from of the lane that DPP's control word names; the old value where there is none.
  void dpp(uint32_t State::*from, uint32_t State::*to, int control) const {
    std::vector<uint32_t> shared(size);
    for (int l = 0; l < size; ++l) shared[l] = lanes[l].*from;
    for (int l = 0; l < size; ++l) {
      const int source = dpp_source(control, l % 16);
      if (source >= 0) lanes[l].*to = shared[l / 16 * 16 + source];
    }
  }
  void tile(uint32_t State::*a, uint32_t State::*b, float State::*to, bool of_halves) const {
    std::vector<uint32_t> a_bits(size), b_bits(size);
    for (int l = 0; l < size; ++l) a_bits[l] = lanes[l].*a, b_bits[l] = lanes[l].*b;
    for (int l = 0; l < size; ++l) {
      const int first = l / 64 * 64;
      const auto a_of = [&](int from) { return a_bits[first + from]; };
      const auto b_of = [&](int from) { return b_bits[first + from]; };
      lanes[l].*to =
          of_halves ? half_tile_by_hand(l % 64, a_of, b_of) : tile_by_hand(l % 64, a_of, b_of);
    }
  }
  void ballot(int32_t State::*vote, uint32_t State::*to) const {
    for (int first = 0; first < size; first += 32) {
      uint32_t mask = 0;
      for (int l = first; l < size && l < first + 32; ++l)
        mask |= uint32_t{lanes[l].*vote > 0} << (l - first);
      for (int l = first; l < size && l < first + 32; ++l) lanes[l].*to = mask;
    }
  }
};

struct Case {
  uint64_t seed;
  int block;
  int blocks;
  void (*launch)(const uint32_t* in, State* out, uint8_t* slots, uint32_t* counters);
  void (*host)(const uint32_t* in, State* out, uint8_t* slots, uint32_t* counters);
  const char* source;
};

// What a kernel is given, and what it must leave, computed by the host.
struct Expectation {
  std::vector<uint32_t> in = std::vector<uint32_t>(kInputWords),
                        counters = std::vector<uint32_t>(kCounters);
  std::vector<State> states;
  std::vector<uint8_t> slots;

  explicit Expectation(const Case& c)
      : states(size_t(c.block) * c.blocks), slots(states.size() * kSlotBytes) {
    check::Rng rng(c.seed);
    for (uint32_t& v : in) v = rng.next() >> rng.below(28);
    c.host(in.data(), states.data(), slots.data(), counters.data());
  }
};

inline bool run_case(const Case& c) {
  const Expectation expected(c);
  const std::vector<uint32_t>&in = expected.in, &counters = expected.counters;
  const std::vector<State>& want = expected.states;
  const std::vector<uint8_t>& slots = expected.slots;
  const size_t lanes = want.size();

  check::Buffer<uint32_t> device_in(in), device_counters(kCounters);
  check::Buffer<State> device_out(lanes);
  check::Buffer<uint8_t> device_slots(slots.size());
  device_counters.fill_bytes(0);
  device_slots.fill_bytes(0);
  device_out.fill_bytes(0xee);
  c.launch(device_in, device_out, device_slots, device_counters);
  check::sync();
  const std::vector<State> got = device_out.read();
  const bool states_equal = std::memcmp(got.data(), want.data(), lanes * sizeof(State)) == 0;
  const bool slots_equal = device_slots.read() == slots,
             counters_equal = device_counters.read() == counters;
  if (states_equal && slots_equal && counters_equal) return true;

  std::printf("FAIL kernel with seed %llu (%d blocks of %d): states %s, slots %s, counters %s\n",
              static_cast<unsigned long long>(c.seed), c.blocks, c.block,
              states_equal ? "equal" : "differ", slots_equal ? "equal" : "differ",
              counters_equal ? "equal" : "differ");
  size_t different = 0;
  for (size_t l = 0; l < lanes; ++l) {
    const State &g = got[l], &w = want[l];
    if (std::memcmp(&g, &w, sizeof g) == 0) continue;
    if (++different > 3) continue;
    std::printf("lane %zu, got:\n", l);
    for (const State* s : {&g, &w}) {
      std::printf(
          "  i %d %d %d %d  u %x %x %x %x  l %lld %lld  q %llx %llx  f %a %a %a  d %a %a  h %g "
          "%g%s\n",
          s->i0, s->i1, s->i2, s->i3, s->u0, s->u1, s->u2, s->u3, static_cast<long long>(s->l0),
          static_cast<long long>(s->l1), static_cast<unsigned long long>(s->q0),
          static_cast<unsigned long long>(s->q1), static_cast<double>(s->f0),
          static_cast<double>(s->f1), static_cast<double>(s->f2), s->d0, s->d1,
          static_cast<double>(s->h0), static_cast<double>(s->h1), s == &g ? "  want:" : "");
    }
  }
  std::printf("%zu of %zu lanes differ; the source:\n%s\n", different, lanes, c.source);
  return false;
}

template <class T>
bool write_file(const std::string& path, const std::vector<T>& values) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool whole = std::fwrite(values.data(), sizeof(T), values.size(), file) == values.size();
  return std::fclose(file) == 0 && whole;
}

// For exec.py: what each kernel is given and must leave, as files in `folder`, and its shape on a
// line. No device is touched.
inline int write_expectations(const Case* cases, int count, const std::string& folder) {
  for (int i = 0; i < count; ++i) {
    const Case& c = cases[i];
    const Expectation expected(c);
    const std::string path = folder + "/" + std::to_string(c.seed);
    if (!write_file(path + ".in", expected.in) || !write_file(path + ".states", expected.states) ||
        !write_file(path + ".slots", expected.slots) ||
        !write_file(path + ".counters", expected.counters)) {
      std::printf("FAIL cannot write %s.*\n", path.c_str());
      return 1;
    }
    std::printf("%llu %d %d\n", static_cast<unsigned long long>(c.seed), c.blocks, c.block);
  }
  return 0;
}

// argv[1], when given, is the seed of the one kernel to run; or --expect, argv[2] a folder, and
// argv[3] "sramecc" when the device has it.
inline int run_all(const Case* cases, int count, uint64_t base_seed, int argc, char** argv) {
  if (argc >= 3 && std::string(argv[1]) == "--expect") {
    device_has_sram_ecc() = argc > 3 && std::string(argv[3]) == "sramecc";
    return write_expectations(cases, count, argv[2]);
  }
  hipDeviceProp_t properties;
  if (hipGetDeviceProperties(&properties, 0) == hipSuccess)
    device_has_sram_ecc() =
        std::string(properties.gcnArchName).find("sramecc+") != std::string::npos;
  std::printf("base seed %llu, %d kernels\n", static_cast<unsigned long long>(base_seed), count);
  int run = 0, failed = 0;
  for (int i = 0; i < count; ++i) {
    if (argc > 1 && cases[i].seed != std::strtoull(argv[1], nullptr, 0)) continue;
    ++run;
    failed += !run_case(cases[i]);
  }
  std::printf("%s: %d kernels, %d failed\n", run > 0 && failed == 0 ? "PASS" : "FAIL", run, failed);
  return run > 0 && failed == 0 ? 0 : 1;
}
