// A launch is timed on the host, from before it is made until the device is idle again, and the time of a launch
// that does nothing is taken off. The work is doubled until a run takes long enough for that to be exact; a virtual
// GPU is slow enough from the start.
#include "doctor/trial/ceilings.h"

#include <algorithm>
#include <chrono>

#include "doctor/trial/hip_session.h"
#include "doctor/trial/loaded_library.h"

namespace wavetap::doctor::trial {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr unsigned kGroupSize = 256;
constexpr unsigned kGroupsPerUnit = 8;
constexpr double kLongEnough = 0.03;
constexpr int kRuns = 3;
constexpr uint32_t kMostRounds = 1 << 20;

// Operations of one work-item in a round; a matrix instruction's are shared by the wave.
struct RateKernel {
  const char* key;
  const char* kernel;
  double operations;
};
constexpr double kSteps = 16 * 8 * 2;
constexpr RateKernel kRates[] = {
    {"vector.f64", "rate_vector_f64", kSteps},
    {"vector.f32", "rate_vector_f32", kSteps},
    {"packed.f16", "rate_packed_f16", 2 * kSteps},
};
// By wave and instruction: 32 x 32 x 2 and 32 x 32 x 8 on CDNA, 16 x 16 x 16 on RDNA 3.
struct MatrixKernel {
  const char* key;
  const char* kernel;
  double cdna, rdna;
};
constexpr MatrixKernel kMatrices[] = {
    {"matrix.f32", "rate_matrix_f32", 2.0 * 32 * 32 * 2, 0},
    {"matrix.f16", "rate_matrix_f16", 2.0 * 32 * 32 * 8, 2.0 * 16 * 16 * 16},
};
constexpr double kMatrixSteps = 4 * 4;

struct MemoryKernel {
  const char* key;
  const char* kernel;
  uint64_t bytes;  // of the buffer
};
// L1 and L2: less than the smallest there are; memory: more than the largest Infinity Cache, or what there is.
constexpr MemoryKernel kMemories[] = {
    {"lds", "read_lds", 4 << 10},
    {"l1", "read_vectors", 8 << 10},
    {"l2", "read_vectors", 1 << 20},
    {"vram", "read_vectors", uint64_t{1} << 30},
};

class Bench {
 public:
  explicit Bench(unsigned units) : groups_(units * kGroupsPerUnit) { session_.load(); }

  Session& session() { return session_; }
  double items() const { return double(groups_) * kGroupSize; }
  bool is_cdna() const { return session_.arch().starts_with("gfx9"); }

  // Compilers pack two multiply-adds of single precision into one instruction where there is one.
  std::string key_of(const std::string& key) const {
    const bool packs = session_.arch() == "gfx90a" || session_.arch() == "gfx942";
    return packs && key == "vector.f32" ? "packed.f32" : key;
  }

  // Work is what one round of all work-items does.
  void measure(const std::string& key, const char* kernel, double work,
               const std::vector<void*>& in_front, uint32_t step, std::vector<Measured>& figures) {
    double nothing = 1;
    for (int i = 0; i < kRuns + 1; ++i) nothing = std::min(nothing, run(kernel, in_front, 0));
    uint32_t rounds = step;
    double best = run(kernel, in_front, rounds);
    while (session_.good() && best < kLongEnough && rounds < kMostRounds)
      best = run(kernel, in_front, rounds *= 2);
    for (int i = 1; i < kRuns; ++i) best = std::min(best, run(kernel, in_front, rounds));
    if (!session_.good()) return;
    const double seconds = std::max(best - nothing, best / 10);
    const double all = work * rounds;
    figures.push_back({key, all / seconds, seconds, all});
  }

  // Whether the module has the kernel: a GPU without matrix units has none of theirs.
  bool has(const char* kernel) {
    void* function = nullptr;
    return session_.good() && session_.find(kernel, &function) == 0;
  }

 private:
  double run(const char* kernel, std::vector<void*> arguments, uint32_t rounds) {
    arguments.push_back(&rounds);
    if (out_ == nullptr) out_ = session_.device_memory(kGroupSize * sizeof(float));
    arguments.push_back(&out_);
    const auto begin = std::chrono::steady_clock::now();
    session_.launch(kernel, groups_, kGroupSize, std::move(arguments));
    return Seconds(std::chrono::steady_clock::now() - begin).count();
  }

  Session session_;
  unsigned groups_;
  void* out_ = nullptr;
};

void measure_rates(Bench& bench, std::vector<Measured>& figures) {
  for (const RateKernel& rate : kRates)
    bench.measure(bench.key_of(rate.key), rate.kernel, rate.operations * bench.items(), {}, 1,
                  figures);
  const double waves = bench.items() / (bench.is_cdna() ? 64 : 32);
  for (const MatrixKernel& matrix : kMatrices) {
    if (!bench.has(matrix.kernel)) continue;
    const double operations = bench.is_cdna() ? matrix.cdna : matrix.rdna;
    bench.measure(matrix.key, matrix.kernel, operations * kMatrixSteps * waves, {}, 1, figures);
  }
}

void measure_memory(Bench& bench, uint64_t vram_bytes, std::vector<Measured>& figures) {
  Session& session = bench.session();
  for (const MemoryKernel& memory : kMemories) {
    uint64_t bytes = memory.bytes;
    while (bytes > vram_bytes / 4) bytes /= 2;
    void* buffer = session.device_memory(bytes);
    auto mask = static_cast<uint32_t>(bytes / 16 - 1);
    // Four vectors of 16 bytes at least.
    bench.measure(memory.key, memory.kernel, 16 * bench.items(), {&buffer, &mask}, 4, figures);
    if (buffer != nullptr) hip_api().free_(buffer);
  }
}

}  // namespace

std::string measure_ceilings(std::vector<Measured>& figures) {
  std::vector<Figures> devices;
  if (std::string error = hip_figures(devices); !error.empty()) return error;
  if (devices.empty()) return "hipGetDeviceCount: no device";
  Bench bench(static_cast<unsigned>(std::max<uint64_t>(devices[0].multiprocessors, 1)));
  measure_rates(bench, figures);
  measure_memory(bench, devices[0].vram_bytes, figures);
  return bench.session().good() ? "" : bench.session().verdict().text;
}

}  // namespace wavetap::doctor::trial
