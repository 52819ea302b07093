// Host cost of a dispatch: reserving a packet, writing it and ringing the doorbell, over a runtime
// that does next to nothing. The difference between a row and `bare` is ours.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "agent/hsa_load.h"
#include "agent/recording.h"
#include "agent/test_fake_hsa.h"

namespace wavetap::agent {
namespace {

enum class Mode { kBare, kStopped, kRecorded, kProgramsSignal };

// One session for the whole program, removed at its end.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "hsa-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
    setenv("WAVETAP_SESSION", name.c_str(), 1);
    setenv("WAVETAP_OPTIONS", "paused", 1);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

void dispatch(benchmark::State& state, Mode mode) {
  static Folder folder;
  FakeHsa fake;
  HsaTable bare{};
  bare.open(fake.tables);
  if (mode != Mode::kBare) on_hsa_load(&fake.tables);
  if (mode == Mode::kRecorded || mode == Mode::kProgramsSignal) record::start_recording(0);
  HsaTable program{};
  program.open(fake.tables);
  const Hsa& hsa = program.next();

  constexpr uint32_t kSize = 4096;
  HsaQueue* queue = nullptr;
  hsa.hsa_queue_create(FakeHsa::kGpu, kSize, 0, nullptr, nullptr, 0, 0, &queue);
  FakeHsa::RealQueue& real = *fake.queues.back();
  uint64_t signal = 0;
  if (mode == Mode::kProgramsSignal) hsa.hsa_signal_create(1, 0, nullptr, &signal);
  FakeHsa::Packet packet{};
  packet.header = static_cast<uint16_t>(amd::PacketType::kKernelDispatch);
  packet.kernel_object = 0x1000;
  packet.completion_signal = signal;
  uint32_t head;
  std::memcpy(&head, &packet, sizeof head);

  uint64_t done = 0;
  for (auto _ : state) {
    const uint64_t index = hsa.hsa_queue_add_write_index_relaxed(queue, 1);
    char* to = static_cast<char*>(queue->base_address) + (index & (kSize - 1)) * sizeof packet;
    std::memcpy(to + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    __atomic_store_n(reinterpret_cast<uint32_t*>(to), head, __ATOMIC_RELEASE);
    hsa.hsa_signal_store_screlease(queue->doorbell_signal, static_cast<int64_t>(index));
    if (signal != 0 || (index & 1023) == 1023) {
      // The GPU's part, not counted where it comes in heaps.
      if (signal == 0) state.PauseTiming();
      for (; done <= index; ++done) {
        const FakeHsa::Packet& taken = real.ring[done & (real.ring.size() - 1)];
        FakeHsa::complete(taken.completion_signal, done + 1, done + 2);
        real.read.store(done + 1, std::memory_order_relaxed);
      }
      if (signal == 0) state.ResumeTiming();
      if (signal != 0) reinterpret_cast<amd::Signal*>(signal)->value = 1;
    }
  }
  if (signal != 0) hsa.hsa_signal_destroy(signal);
  if (mode == Mode::kRecorded || mode == Mode::kProgramsSignal) record::stop_recording(0);
  if (mode != Mode::kBare) on_hsa_unload();
}

BENCHMARK_CAPTURE(dispatch, bare, Mode::kBare);
BENCHMARK_CAPTURE(dispatch, stopped, Mode::kStopped);
BENCHMARK_CAPTURE(dispatch, recorded, Mode::kRecorded)->Iterations(2'000'000);
BENCHMARK_CAPTURE(dispatch, recorded_with_the_programs_signal, Mode::kProgramsSignal)
    ->Iterations(1'000'000);

}  // namespace
}  // namespace wavetap::agent
