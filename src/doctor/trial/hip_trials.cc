// What is tried through HIP: start, copies (HIP chooses its way by size and kind of memory), and one
// short kernel per capability.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "doctor/trial/hip_session.h"
#include "doctor/trial/loaded_library.h"
#include "doctor/trial/trial_code.h"
#include "doctor/trial/trials.h"

namespace wavetap::doctor::trial {
namespace {

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

}  // namespace

Verdict try_init() {
  std::vector<Figures> agents;
  const std::string error = hsa_figures(agents);
  if (!error.empty()) return hsa_library().ok() ? failed(error) : skipped(error);
  if (agents.empty()) return failed("HSA starts and finds no GPU");
  const Session session;
  if (!session.good()) return session.verdict();
  return passed(
      fmt::format("HSA and HIP start, {} GPU{}", agents.size(), agents.size() == 1 ? "" : "s"));
}

Verdict try_copy() { return copy_and_compare(false); }
Verdict try_copy_on_device() { return copy_and_compare(true); }

Verdict try_saxpy() {
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

Verdict try_lds() {
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

Verdict try_atomics() {
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

Verdict try_scratch() {
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

Verdict try_printf() {
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
Verdict try_coherence() {
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

Verdict try_gemm() {
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

}  // namespace wavetap::doctor::trial
