// Operations and bytes of twelve kernels, derived by hand, against what is counted and modelled; exact.
//
// N is the number of work-items. Each level counts what passes it: lanes'
// bytes at the L1; lines of requests at the L2; what the L2 reads and writes at memory. Buffers are much larger than a
// line and start at one, nothing is read twice unless the kernel says so, so a stream's bytes are the same at every
// level. Arguments and the code itself are read through the L2, too: up to 1 KiB per XCC is allowed on top of what
// memory is read for, and nowhere else.
#include <gtest/gtest.h>

#include "amd/gfx_target.h"
#include "cachesim/memory_watch.h"
#include "model/model.h"
#include "profile/engine_sample.h"
#include "profile/profile.h"
#include "replay/device_file.h"
#include "replay/kernel_run.h"

namespace wavetap::profile {
namespace {

constexpr uint32_t kGroups = 512;
constexpr double kN = kGroups * 256;
constexpr int kCount = 16;
constexpr double kOncePerCu = -1;

struct Case {
  const char* kernel;
  double flops;     // all floating-point operations
  double l1_bytes;  // of lanes
  double l2_bytes;  // between vector L1s and L2
  double memory_read, memory_written;
  double lds_bytes = 0;
};

// Per work-item: what is loaded, stored, computed.
constexpr Case kCases[] = {
    {"copy", 0, 8 * kN, 8 * kN, 4 * kN, 4 * kN},
    {"copy_float4", 0, 32 * kN, 32 * kN, 16 * kN, 16 * kN},
    {"add", kN, 12 * kN, 12 * kN, 8 * kN, 4 * kN},
    {"triad", 2 * kN, 12 * kN, 12 * kN, 8 * kN, 4 * kN},
    {"fma_chain", 2 * kCount* kN, 8 * kN, 8 * kN, 4 * kN, 4 * kN},
    {"fma_chain_f64", 2 * kCount* kN, 16 * kN, 16 * kN, 8 * kN, 8 * kN},
    {"half_lanes", kCount* kN, 8 * kN, 8 * kN, 4 * kN, 4 * kN},
    // 64 bytes from one work-item to the next: all of the buffer passes, whatever the size of a line.
    {"strided", 0, 8 * kN, 68 * kN, 64 * kN, 4 * kN},
    // 1024 bytes: every CU reads them once; several XCCs' L2s find them in the Infinity Cache.
    {"broadcast", kCount* kN, (4 * kCount + 4) * kN, kOncePerCu, 1024, 4 * kN},
    {"lds_sum", kCount* kN, 8 * kN, 8 * kN, 4 * kN, 4 * kN, (4 + 4 * kCount) * kN},
    {"store_only", 0, 4 * kN, 4 * kN, 0, 4 * kN},
    // 4 bytes come and go at the L1; at the L2 an atomic moves its data one way.
    {"atomic_add", 0, 4 * kN, 4 * kN, 4 * kN, 4 * kN},
};

class RooflineKernels : public testing::TestWithParam<const char*> {};

Sample run(const model::Model& model, replay::DeviceFile& file, const char* name,
           const std::vector<std::string>& texts, uint32_t groups, uint32_t size = 256) {
  const auto found = replay::find_kernels(file, name, "");
  EXPECT_TRUE(found.ok() && !found->empty()) << name;
  const codeobj::Kernel& kernel = *found->front().kernel;
  auto loaded = replay::KernelRun::load(*found->front().object, kernel);
  EXPECT_TRUE(loaded.ok());
  replay::DispatchShape shape;
  shape.workgroups[0] = groups;
  shape.workgroup_size[0] = size;
  std::vector<replay::KernelArgument> arguments;
  for (const std::string& text : texts) arguments.push_back(*replay::parse_argument(text));
  EXPECT_TRUE((*loaded)->place(std::move(arguments), shape).ok());
  cachesim::MemoryWatch watch(model);
  emu::Watcher* watchers[] = {&watch};
  const replay::RunResult result = (*loaded)->run({.engine = {}, .watchers = watchers});
  EXPECT_FALSE(result.fault);
  Sample sample;
  sample.kernel = name;
  sample.grid[0] = uint64_t{groups} * size;
  sample.workgroup[0] = size;
  sample.wave_size = kernel.wave64(model.target) ? 64 : 32;
  add_counters(result.counters, sample);
  add_memory(watch.result(), model.target, sample);
  return sample;
}

TEST_P(RooflineKernels, OperationsAndBytesAreThoseOfTheArithmetic) {
  const Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", GetParam());
  ASSERT_TRUE(model.ok());
  Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(
      std::string(WT_BUILD_DIR "/co/roofline_") + amd::to_string(model->target) + ".hsaco");
  ASSERT_TRUE(file.ok()) << file.error().message;
  for (const Case& test : kCases) {
    SCOPED_TRACE(test.kernel);
    const std::string bytes = "buf:" + std::to_string(static_cast<uint64_t>(kN) * 64);
    const Sample sample = run(*model, **file, test.kernel,
                              {bytes, bytes, "i32:" + std::to_string(static_cast<int>(kN)),
                               "i32:" + std::to_string(kCount)},
                              kGroups);
    const Work work = work_of(*model, sample);
    const auto modelled = [&](const char* name) {
      return sample.count((std::string("modelled.") + name).c_str());
    };
    EXPECT_EQ(work.operations.flops(), test.flops);
    EXPECT_EQ(work.kernel.l1_bytes, test.l1_bytes);
    EXPECT_EQ(work.lds_bytes, test.lds_bytes);
    const bool is_shared = test.l2_bytes == kOncePerCu;
    EXPECT_EQ(work.l1_to_l2_bytes, is_shared
                                       ? 1024.0 * std::min(model->compute_units, kGroups) + 4 * kN
                                       : test.l2_bytes);
    // Arguments and code, once per XCC; a line each at least, and not many.
    EXPECT_GT(modelled("dram_read_bytes"), test.memory_read);
    EXPECT_LE(modelled("dram_read_bytes"), test.memory_read + 1024.0 * model->xccs);
    EXPECT_EQ(modelled("dram_write_bytes"), test.memory_written);
  }
}

// The copy of 2^20 doubles whose hardware counters are published with rocprofiler-compute: SQ_INSTS, VALU, SALU,
// SMEM, BRANCH, SENDMSG per wave; requests of the vector L1s; requests and misses of the L2, reads of memory.
struct Hardware {
  const char *model, *target;
  double per_wave[6];
  double l1_reads, l1_writes, l2_requests, l2_misses, memory_reads;
};
constexpr Hardware kHardware[] = {
    {"mi100", "gfx908", {24, 10, 3, 4, 1, 1}, 131072, 131072, 262462, 262415, 131293},
    {"mi210", "gfx90a", {24, 10, 3, 4, 1, 1}, 131072, 131072, 201111, 131082, 131081},
    {"mi300x", "gfx942", {20, 6, 3, 4, 1, 1}, 65536, 131072, 196859, 131323, 65757},
};

TEST(HardwareCounters, OfACopyAreMet) {
  for (const Hardware& expected : kHardware) {
    SCOPED_TRACE(expected.model);
    const Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", expected.model);
    ASSERT_TRUE(model.ok());
    Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(
        std::string(WT_BUILD_DIR "/co/vec_copy_") + expected.target + ".hsaco");
    ASSERT_TRUE(file.ok()) << file.error().message;
    constexpr uint32_t kDoubles = 1 << 20;
    const std::string bytes = "buf:" + std::to_string(kDoubles * 8);
    const Sample sample =
        run(*model, **file, "vec_copy",
            {bytes, bytes, bytes, "i32:" + std::to_string(kDoubles), "i32:1"}, kDoubles / 256);
    const char* const names[] = {"SQ_INSTS",      "SQ_INSTS_VALU",   "SQ_INSTS_SALU",
                                 "SQ_INSTS_SMEM", "SQ_INSTS_BRANCH", "SQ_INSTS_SENDMSG"};
    const double waves = sample.count("SQ_WAVES");
    EXPECT_EQ(waves, 16384);
    for (size_t i = 0; i < std::size(names); ++i)
      EXPECT_EQ(sample.count(names[i]) / waves, expected.per_wave[i]) << names[i];
    EXPECT_EQ(sample.count("SQ_INSTS_VMEM_RD") / waves, 1);
    EXPECT_EQ(sample.count("SQ_INSTS_VMEM_WR") / waves, 1);
    EXPECT_EQ(sample.count("SQ_INSTS_FLAT") / waves, 2);
    EXPECT_EQ(sample.count("TCP_TOTAL_ACCESSES") / waves, 2 * 64);
    EXPECT_EQ(sample.count("TCP_TOTAL_CACHE_ACCESSES") / waves, 2 * 16);
    EXPECT_EQ(sample.count("TCP_TCC_READ_REQ"), expected.l1_reads);
    EXPECT_EQ(sample.count("TCP_TCC_WRITE_REQ"), expected.l1_writes);
    const auto near = [&](const char* name, double hardware, double share = 0.02) {
      EXPECT_NEAR(sample.count(name), hardware, share * hardware) << name;
    };
    // Of MI210 hardware counts 2.1 % more than loads, stores, arguments and code make; from where is not known.
    near("TCC_REQ", expected.l2_requests, expected.model == std::string("mi210") ? 0.025 : 0.02);
    near("TCC_MISS", expected.l2_misses);
    near(model->target.minor == 4 ? "TCC_EA0_RDREQ" : "TCC_EA_RDREQ", expected.memory_reads);
  }
}

// Published curves of latency over the bytes of a chain of loads (mt4g, gpu-benches): cycles of a load that this
// level answers; where two are published, between them. A chain that is gone through once comes from memory.
struct Latency {
  const char* model;
  const char* level;
  int bytes, rounds;
  double cycles;
};
constexpr Latency kLatencies[] = {
    {"mi210", "L1", 8 << 10, 500, 124.5},    {"mi210", "L2", 256 << 10, 100, 269.5},
    {"mi210", "memory", 8 << 20, 1, 655.5},  {"mi300x", "L1", 16 << 10, 500, 116},
    {"mi300x", "L2", 256 << 10, 100, 288},   {"mi300x", "memory", 8 << 20, 1, 888},
    {"rx6800xt", "L0", 8 << 10, 500, 73},    {"rx6800xt", "GL1", 96 << 10, 100, 99.5},
    {"rx6800xt", "L2", 256 << 10, 100, 199}, {"rx6800xt", "Infinity Cache", 8 << 20, 10, 377.5},
    {"rx6800xt", "memory", 8 << 20, 1, 426},
};

TEST(LatencyCurves, OfChainsOfLoadsAreMetWithinATenth) {
  for (const Latency& expected : kLatencies) {
    SCOPED_TRACE(std::string(expected.model) + ", " + expected.level);
    const Result<model::Model> model = model::load_model(WT_SOURCE_DIR "/models", expected.model);
    ASSERT_TRUE(model.ok());
    Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(
        std::string(WT_BUILD_DIR "/co/roofline_") + amd::to_string(model->target) + ".hsaco");
    ASSERT_TRUE(file.ok()) << file.error().message;
    const Sample sample =
        run(*model, **file, "chain",
            {"buf:" + std::to_string(expected.bytes + 4096), "buf:4096",
             "i32:" + std::to_string(expected.bytes), "i32:" + std::to_string(expected.rounds)},
            1, model->target.major == 9 ? 64 : 32);
    const Work work = work_of(*model, sample);
    const timing::KernelTime time = timing::kernel_time(*model, work.kernel, {});
    const double loads = expected.bytes / 128.0 * expected.rounds;
    EXPECT_NEAR(time.wave_cycles / loads, expected.cycles, expected.cycles / 10);
    EXPECT_EQ(time.limit, timing::Resource::kLatency);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RooflineKernels, testing::Values("rx6800xt", "mi210", "mi300x"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace wavetap::profile
