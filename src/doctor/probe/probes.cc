#include "doctor/probe/probes.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>

#include "doctor/probe/device_code.h"
#include "doctor/probe/hip.h"
#include "doctor/probe/hsa.h"
#include "doctor/probe/runtime.h"

namespace wavetap::doctor::probe {
namespace {

Verdict passed(std::string text) { return {Outcome::kPassed, std::move(text)}; }
Verdict failed(std::string text) { return {Outcome::kFailed, std::move(text)}; }
Verdict skipped(std::string text) { return {Outcome::kSkipped, std::move(text)}; }

// --- HIP with its failures collected: the first one is kept, and later calls do nothing.
class Session {
 public:
  Session() {
    if (!hip_library().ok()) {
      skip_ = hip_library().error();
    } else if (!hip_api().complete()) {
      skip_ = "this HIP lacks functions the probe needs";
    } else {
      int count = 0;
      call("hipInit", hip_api().init(0));
      if (good()) call("hipGetDeviceCount", hip_api().get_device_count(&count));
      if (good() && count == 0) error_ = "hipGetDeviceCount: no device";
      if (good()) call("hipSetDevice", hip_api().set_device(0));
    }
  }

  bool good() const { return error_.empty() && skip_.empty(); }
  Verdict verdict() const { return skip_.empty() ? failed(error_) : skipped(skip_); }
  bool call(const char* what, int error) {
    if (error != 0 && error_.empty()) error_ = fmt::format("{}: {}", what, hip_text(error));
    return error == 0;
  }

  void* device_memory(size_t bytes) {
    void* pointer = nullptr;
    if (good()) call("hipMalloc", hip_api().malloc_(&pointer, bytes));
    return pointer;
  }
  void* host_memory(size_t bytes, unsigned flags) {
    void* pointer = nullptr;
    if (good()) call("hipHostMalloc", hip_api().host_malloc(&pointer, bytes, flags));
    return pointer;
  }
  void copy(void* to, const void* from, size_t bytes, int direction) {
    if (good()) call("hipMemcpy", hip_api().memcpy_(to, from, bytes, direction));
  }
  template <class T>
  void* upload(const std::vector<T>& values) {
    void* pointer = device_memory(values.size() * sizeof(T));
    copy(pointer, values.data(), values.size() * sizeof(T), kHostToDevice);
    return pointer;
  }
  template <class T>
  std::vector<T> download(void* pointer, size_t count) {
    std::vector<T> values(count);
    copy(values.data(), pointer, count * sizeof(T), kDeviceToHost);
    return values;
  }

  // Code for the device as HIP names it: with an override in force that is the other chip's.
  void load() {
    if (!good()) return;
    arch_ = hip_arch(0);
    const std::span<const std::byte> code = device_code(arch_);
    if (code.empty()) {
      skip_ = fmt::format("no probe kernels for {} in this build",
                          arch_.empty() ? "this device" : arch_);
      return;
    }
    call("hipModuleLoadData", hip_api().module_load_data(&module_, code.data()));
  }
  void launch(const char* kernel, unsigned groups, unsigned group_size,
              std::vector<void*> arguments) {
    start(kernel, groups, group_size, std::move(arguments));
    if (good()) call("hipDeviceSynchronize", hip_api().synchronize());
  }
  void start(const char* kernel, unsigned groups, unsigned group_size,
             std::vector<void*> arguments) {
    void* function = nullptr;
    if (good())
      call("hipModuleGetFunction", hip_api().module_get_function(&function, module_, kernel));
    if (good()) {
      call("hipModuleLaunchKernel",
           hip_api().module_launch(function, groups, 1, 1, group_size, 1, 1, 0, nullptr,
                                   arguments.data(), nullptr));
    }
  }
  void use_module(void* module) { module_ = module; }
  const std::string& arch() const { return arch_; }

 private:
  void* module_ = nullptr;
  std::string arch_;
  std::string error_;
  std::string skip_;
};

template <class T>
Verdict compare(Session& session, const std::vector<T>& got,
                const std::function<T(size_t)>& expected, const std::string& what) {
  if (!session.good()) return session.verdict();
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const T want = expected(i);
    const bool same = std::is_floating_point_v<T>
                          ? std::abs(static_cast<double>(got[i]) - static_cast<double>(want)) <=
                                1e-3 * (1 + std::abs(static_cast<double>(want)))
                          : got[i] == want;
    if (!same && wrong++ == 0) first = i;
  }
  if (wrong == 0) return passed(what);
  return failed(fmt::format("{}: {} of {} values are wrong, the first at {}: {} instead of {}",
                            what, wrong, got.size(), first, got[first], expected(first)));
}

// --- The probes

Verdict probe_init() {
  std::vector<Figures> agents;
  const std::string error = hsa_figures(agents);
  if (!error.empty()) return hsa_library().ok() ? failed(error) : skipped(error);
  if (agents.empty()) return failed("HSA starts and finds no GPU");
  const Session session;
  if (!session.good()) return session.verdict();
  return passed(
      fmt::format("HSA and HIP start, {} GPU{}", agents.size(), agents.size() == 1 ? "" : "s"));
}

struct PoolTest {
  bool is_gpu = false;
  int pools = 0;
  std::string error;
};

HsaStatus try_pool(HsaHandle pool, void* data) {
  auto& test = *static_cast<PoolTest*>(data);
  const HsaApi& hsa = hsa_api();
  uint32_t segment = 0;
  bool allowed = false;
  hsa.pool_get_info(pool, amd::kPoolSegment, &segment);
  hsa.pool_get_info(pool, amd::kPoolMayAllocate, &allowed);
  if (segment != amd::kSegmentGlobal || !allowed) return 0;
  constexpr size_t kBytes = 1 << 20;
  void* memory = nullptr;
  const HsaStatus got = hsa.pool_allocate(pool, kBytes, 0, &memory);
  if (got != 0) {
    test.error = fmt::format("allocating from pool {} of a {}: {}", test.pools,
                             test.is_gpu ? "GPU" : "CPU", hsa_text(got));
    return 0;
  }
  if (!test.is_gpu) {
    std::memset(memory, 0x5a, kBytes);
    for (size_t i = 0; i < kBytes; ++i) {
      if (static_cast<const unsigned char*>(memory)[i] != 0x5a)
        test.error = "host memory does not keep what was written";
    }
  }
  const HsaStatus freed = hsa.pool_free(memory);
  if (freed != 0) test.error = fmt::format("freeing: {}", hsa_text(freed));
  ++test.pools;
  return 0;
}

HsaStatus try_agent_pools(HsaHandle agent, void* data) {
  auto& test = *static_cast<PoolTest*>(data);
  uint32_t device = 0;
  hsa_api().agent_get_info(agent, amd::kAgentDevice, &device);
  test.is_gpu = device == amd::kDeviceGpu;
  hsa_api().iterate_pools(agent, try_pool, data);
  return 0;
}

Verdict probe_pools() {
  std::vector<Figures> agents;
  const std::string error = hsa_figures(agents);
  if (!error.empty()) return hsa_library().ok() ? failed(error) : skipped(error);
  PoolTest test;
  hsa_api().iterate_agents(try_agent_pools, &test);
  if (!test.error.empty()) return failed(test.error);
  return passed(fmt::format("{} memory pools", test.pools));
}

// --- Copies by HSA, which are the copy engine's unless HSA_ENABLE_SDMA=0 makes them kernels.
struct Agents {
  HsaHandle cpu{}, gpu{};
  HsaHandle host_pool{}, device_pool{};
};

HsaStatus note_pool(HsaHandle pool, void* data) {
  uint32_t segment = 0;
  bool allowed = false;
  hsa_api().pool_get_info(pool, amd::kPoolSegment, &segment);
  hsa_api().pool_get_info(pool, amd::kPoolMayAllocate, &allowed);
  auto& found = *static_cast<HsaHandle*>(data);
  if (segment == amd::kSegmentGlobal && allowed && found.handle == 0) found = pool;
  return 0;
}

HsaStatus note_copy_agent(HsaHandle agent, void* data) {
  auto& agents = *static_cast<Agents*>(data);
  uint32_t device = 0;
  hsa_api().agent_get_info(agent, amd::kAgentDevice, &device);
  HsaHandle& slot = device == amd::kDeviceGpu ? agents.gpu : agents.cpu;
  if (slot.handle != 0) return 0;
  slot = agent;
  hsa_api().iterate_pools(agent, note_pool,
                          device == amd::kDeviceGpu ? &agents.device_pool : &agents.host_pool);
  return 0;
}

Verdict probe_copy_engine() {
  std::vector<Figures> figures;
  const std::string error = hsa_figures(figures);
  if (!error.empty()) return hsa_library().ok() ? failed(error) : skipped(error);
  const HsaApi& hsa = hsa_api();
  if (!hsa.can_copy()) return skipped("this HSA runtime lacks asynchronous copies");
  Agents agents;
  hsa.iterate_agents(note_copy_agent, &agents);
  if (agents.device_pool.handle == 0 || agents.host_pool.handle == 0)
    return failed("no memory pool to copy between");
  const auto copy = [&](void* to, HsaHandle to_agent, const void* from, HsaHandle from_agent,
                        size_t bytes) -> std::string {
    HsaHandle signal{};
    HsaStatus status = hsa.signal_create(1, 0, nullptr, &signal);
    if (status == 0)
      status = hsa.async_copy(to, to_agent, from, from_agent, bytes, 0, nullptr, signal);
    if (status != 0) return hsa_text(status);
    constexpr uint32_t kLess = 2, kBlocked = 0;
    hsa.signal_wait(signal, kLess, 1, UINT64_MAX, kBlocked);
    return "";
  };
  for (const size_t words : {size_t{1024}, size_t{65536}, size_t{1048576 + 3}}) {
    const size_t bytes = words * sizeof(uint32_t);
    void *host = nullptr, *device = nullptr;
    HsaStatus status = hsa.pool_allocate(agents.host_pool, bytes, 0, &host);
    if (status == 0) status = hsa.pool_allocate(agents.device_pool, bytes, 0, &device);
    if (status == 0) status = hsa.allow_access(1, &agents.gpu, nullptr, host);
    if (status != 0) return failed(hsa_text(status));
    auto* values = static_cast<uint32_t*>(host);
    const auto value = [&](size_t i) { return static_cast<uint32_t>(i * 2246822519u + words); };
    for (size_t i = 0; i < words; ++i) values[i] = value(i);
    std::string problem = copy(device, agents.gpu, host, agents.cpu, bytes);
    std::memset(host, 0, bytes);
    if (problem.empty()) problem = copy(host, agents.cpu, device, agents.gpu, bytes);
    if (!problem.empty()) return failed("hsa_amd_memory_async_copy: " + problem);
    size_t wrong = 0;
    for (size_t i = 0; i < words; ++i) wrong += values[i] == value(i) ? 0 : 1;
    if (wrong != 0)
      return failed(fmt::format("{} KiB to the GPU and back: {} of {} words are wrong", bytes >> 10,
                                wrong, words));
    hsa.pool_free(host);
    hsa.pool_free(device);
  }
  return passed("4 KiB to 4 MiB to the GPU and back, exact");
}

// --- Copies by HIP, which chooses its way by size and kind of memory.

// On the device as well when `on_device`: that is a kernel's work, the rest the copy engine's.
Verdict copy_and_compare(bool on_device) {
  Session session;
  // Sizes at which HIP changes its way, and an odd tail.
  for (const size_t words : {size_t{1024}, size_t{65536}, size_t{1048576 + 3}}) {
    const size_t bytes = words * sizeof(uint32_t);
    const auto value = [&](size_t i) { return static_cast<uint32_t>(i * 2654435761u + words); };
    for (const bool pinned : {false, true}) {
      std::vector<uint32_t> pageable(pinned ? 0 : words);
      auto* source =
          pinned ? static_cast<uint32_t*>(session.host_memory(bytes, 0)) : pageable.data();
      void* first = session.device_memory(bytes);
      void* second = session.device_memory(bytes);
      if (!session.good()) return session.verdict();
      for (size_t i = 0; i < words; ++i) source[i] = value(i);
      session.copy(first, source, bytes, kHostToDevice);
      if (on_device) session.copy(second, first, bytes, kDeviceToDevice);
      std::memset(source, 0, bytes);
      session.copy(source, on_device ? second : first, bytes, kDeviceToHost);
      const std::vector<uint32_t> got(source, source + words);
      const Verdict verdict = compare<uint32_t>(
          session, got, value,
          fmt::format("{} KiB from {} memory to the GPU{} and back", bytes >> 10,
                      pinned ? "pinned" : "pageable", on_device ? ", on it" : ""));
      if (verdict.outcome != Outcome::kPassed) return verdict;
      hip_api().free_(first);
      hip_api().free_(second);
      if (pinned) hip_api().host_free(source);
    }
  }
  return passed(on_device ? "copies on the GPU are exact" : "copies to the GPU and back are exact");
}

Verdict probe_copy() { return copy_and_compare(false); }
Verdict probe_copy_on_device() { return copy_and_compare(true); }

Verdict probe_saxpy() {
  Session session;
  session.load();
  constexpr uint32_t kCount = 4096;
  std::vector<float> x(kCount), y(kCount);
  for (uint32_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = 1;
  void *dx = session.upload(x), *dy = session.upload(y);
  uint32_t n = kCount;
  float a = 2;
  session.launch("saxpy", kCount / 64, 64, {&n, &a, &dx, &dy});
  return compare<float>(
      session, session.download<float>(dy, kCount),
      [](size_t i) { return 2.0f * static_cast<float>(i) + 1; }, "saxpy on " + session.arch());
}

Verdict probe_lds() {
  Session session;
  session.load();
  constexpr uint32_t kCount = 1024;
  std::vector<uint32_t> in(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = i * 3;
  void *din = session.upload(in), *out = session.device_memory(kCount * 4);
  session.launch("lds_reverse", kCount / 64, 64, {&din, &out});
  return compare<uint32_t>(
      session, session.download<uint32_t>(out, kCount),
      [](size_t i) { return static_cast<uint32_t>((i / 64 * 64 + 63 - i % 64) * 3); },
      "exchange through LDS");
}

Verdict probe_atomics() {
  Session session;
  session.load();
  void* counters = session.upload(std::vector<uint32_t>(3, 0));
  session.launch("atomics", 16, 64, {&counters});
  return compare<uint32_t>(
      session, session.download<uint32_t>(counters, 3),
      [](size_t i) { return i == 0   ? 1024u
                            : i == 1 ? 1023u
                                     : 0u; },
      "atomic add, max, compare-and-swap");
}

Verdict probe_scratch() {
  Session session;
  session.load();
  constexpr uint32_t kCount = 256;
  std::vector<uint32_t> in(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = i;
  void *din = session.upload(in), *out = session.device_memory(kCount * 4);
  session.launch("scratch", kCount / 64, 64, {&din, &out});
  // 7 is odd, so every slot is read once: 64 i + the sum of squares below 64.
  return compare<uint32_t>(
      session, session.download<uint32_t>(out, kCount),
      [](size_t i) { return static_cast<uint32_t>(64 * i + 85344); },
      "private arrays in scratch memory");
}

Verdict probe_printf() {
  Session session;
  if (!session.good()) return session.verdict();
  const std::span<const std::byte> code = printf_code();
  if (code.empty()) return skipped("built without hipcc");
  void* module = nullptr;
  const int error = hip_api().module_load_data(&module, code.data());
  // 209: no code for this device in the bundle.
  if (error == 209) return skipped("no printf kernel for " + hip_arch(0) + " in this build");
  session.call("hipModuleLoadData", error);
  session.use_module(module);
  session.launch("say", 1, 1, {});
  if (!session.good()) return session.verdict();
  return passed("the kernel printed");
}

// The device answers through fine-grained host memory while the kernel runs.
Verdict probe_coherence() {
  Session session;
  session.load();
  constexpr unsigned kCoherent = 0x40000000u;  // hipHostMallocCoherent
  constexpr uint32_t kRounds = 50;
  auto* words = static_cast<uint32_t*>(session.host_memory(4096, kCoherent));
  if (!session.good()) return session.verdict();
  words[0] = words[1] = 0;
  uint32_t rounds = kRounds;
  void* pointer = words;
  session.start("ping", 1, 1, {&pointer, &rounds});
  if (!session.good()) return session.verdict();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  for (uint32_t round = 1; round <= kRounds; ++round) {
    std::atomic_ref(words[0]).store(round, std::memory_order_release);
    while (std::atomic_ref(words[1]).load(std::memory_order_acquire) < round) {
      if (std::chrono::steady_clock::now() > deadline) {
        std::atomic_ref(words[0]).store(kRounds, std::memory_order_release);  // lets the kernel end
        return failed(fmt::format("the GPU stopped answering in round {} of {}", round, kRounds));
      }
      std::this_thread::yield();
    }
  }
  session.call("hipDeviceSynchronize", hip_api().synchronize());
  return session.good() ? passed(fmt::format("{} rounds of ping-pong", kRounds))
                        : session.verdict();
}

Verdict probe_gemm() {
  Session session;
  session.load();
  constexpr uint32_t kSize = 32;
  std::vector<float> a(kSize * kSize), b(kSize * kSize);
  for (uint32_t i = 0; i < kSize * kSize; ++i)
    a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5) - 2;
  void *da = session.upload(a), *db = session.upload(b),
       *dc = session.device_memory(kSize * kSize * 4);
  uint32_t n = kSize;
  session.launch("gemm", kSize * kSize / 64, 64, {&n, &da, &db, &dc});
  const auto expected = [&](size_t i) {
    float sum = 0;
    for (uint32_t k = 0; k < kSize; ++k) sum += a[i / kSize * kSize + k] * b[k * kSize + i % kSize];
    return sum;
  };
  return compare<float>(session, session.download<float>(dc, kSize * kSize), expected,
                        "32 x 32 matrix product");
}

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

Verdict probe_conv() {
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

}  // namespace

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = {
      {"init", probe_init},
      {"pools", probe_pools},
      {"copy-engine", probe_copy_engine},
      {"copy", probe_copy},
      {"copy-on-device", probe_copy_on_device},
      {"saxpy", probe_saxpy},
      {"lds", probe_lds},
      {"atomics", probe_atomics},
      {"scratch", probe_scratch},
      {"gemm", probe_gemm},
      {"conv", probe_conv},
      {"coherence", probe_coherence},
      {"printf", probe_printf},
  };
  return all;
}

}  // namespace wavetap::doctor::probe
