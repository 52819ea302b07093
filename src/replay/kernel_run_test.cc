#include "replay/kernel_run.h"

#include <gtest/gtest.h>

#include <cstring>

#include "emu/watch.h"
#include "replay/coverage.h"
#include "replay/device_file.h"

namespace wavetap::replay {
namespace {

class KernelRunTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef WT_TEST_CODE_OBJECT
    Result<std::unique_ptr<DeviceFile>> file = open_device_file(WT_TEST_CODE_OBJECT);
    ASSERT_TRUE(file.ok()) << file.error().message;
    file_ = std::move(*file);
#else
    GTEST_SKIP() << "needs clang-19";
#endif
  }

  std::unique_ptr<KernelRun> load(const char* name) {
    const Result<std::vector<FoundKernel>> found = find_kernels(*file_, name, "gfx90a");
    EXPECT_TRUE(found.ok());
    Result<std::unique_ptr<KernelRun>> run =
        KernelRun::load(*found->front().object, *found->front().kernel);
    EXPECT_TRUE(run.ok());
    return std::move(*run);
  }

  static std::vector<KernelArgument> arguments(std::initializer_list<const char*> texts) {
    std::vector<KernelArgument> list;
    for (const char* text : texts) list.push_back(*parse_argument(text));
    return list;
  }

  static std::vector<std::string> ints(KernelRun& run, size_t argument) {
    return *format_elements(run.argument_bytes(argument), "i32", 4);
  }

  std::unique_ptr<DeviceFile> file_;
};

using Strings = std::vector<std::string>;

TEST_F(KernelRunTest, RunsAgainFromWhereItEndedOrFromTheStart) {
  const std::unique_ptr<KernelRun> run = load("accumulate");
  DispatchShape shape;
  shape.workgroup_size[0] = 4;
  ASSERT_TRUE(run->place(arguments({"buf:16:iota", "i32:10"}), shape).ok());
  const RunResult result = run->run({});
  ASSERT_FALSE(result.fault) << run->describe(*result.fault);
  EXPECT_EQ(result.counters.waves, 1u);
  EXPECT_EQ(result.counters.bytes_global_store, 4u * 4 + 4 * 4);
  EXPECT_EQ(ints(*run, 0), (Strings{"10", "11", "12", "13"}));
  ASSERT_FALSE(run->run({}).fault);
  EXPECT_EQ(ints(*run, 0), (Strings{"21", "22", "23", "24"})) << "the variable went up as well";
  ASSERT_TRUE(run->restore().ok());
  EXPECT_EQ(ints(*run, 0), (Strings{"0", "1", "2", "3"}));
  ASSERT_FALSE(run->run({}).fault);
  EXPECT_EQ(ints(*run, 0), (Strings{"10", "11", "12", "13"})) << "and back";
}

TEST_F(KernelRunTest, DataAtChosenAddressesKeepsItsPointers) {
  const std::unique_ptr<KernelRun> run = load("chase");
  constexpr GpuAddr kFirst{0x7f0000001000}, kSecond{0x7f0000002008};
  ASSERT_TRUE(run->memory().allocate_at(kFirst, 8).ok());
  ASSERT_TRUE(run->memory().allocate_at(kSecond, 12).ok());
  const uint64_t pointers[] = {kSecond.value, kSecond.value + 8};
  const int32_t value = 42;
  std::memcpy(run->memory().bytes(kFirst, 8).data(), &pointers[0], 8);
  std::memcpy(run->memory().bytes(kSecond, 8).data(), &pointers[1], 8);
  std::memcpy(run->memory().bytes(kSecond + 8, 4).data(), &value, 4);
  ASSERT_TRUE(run->place(arguments({"u64:0x7f0000001000", "buf:4"}), {}).ok());
  const RunResult result = run->run({});
  ASSERT_FALSE(result.fault) << run->describe(*result.fault);
  EXPECT_EQ(ints(*run, 1), (Strings{"42"}));
}

TEST_F(KernelRunTest, AFaultIsNamed) {
  const std::unique_ptr<KernelRun> run = load("accumulate");
  DispatchShape shape;
  shape.workgroup_size[0] = 8;
  ASSERT_TRUE(run->place(arguments({"buf:16", "i32:1"}), shape).ok());
  const RunResult result = run->run({});
  ASSERT_TRUE(result.fault);
  const std::string text = run->describe(*result.fault);
  EXPECT_NE(text.find("16 bytes into argument 0, which has 16"), std::string::npos) << text;
  EXPECT_NE(text.find("global_load_dword v1, v0, s[4:5]"), std::string::npos) << text;
}

TEST_F(KernelRunTest, ArgumentsAreHeldAgainstTheKernel) {
  const std::unique_ptr<KernelRun> run = load("accumulate");
  EXPECT_FALSE(run->place(arguments({"buf:16"}), {}).ok()) << "one is missing";
  EXPECT_FALSE(run->place(arguments({"buf:16", "i64:1"}), {}).ok()) << "too wide";
  EXPECT_TRUE(run->place(arguments({"buf:16", "i32:1"}), {}).ok());
  EXPECT_TRUE(run->argument_bytes(1).empty()) << "a value has no bytes in memory of its own";
}

TEST_F(KernelRunTest, WatchersSeeTheRun) {
  class Stores final : public emu::Watcher {
   public:
    emu::Wants wants(const isa::Program&, int32_t) noexcept override { return {.accessing = true}; }
    void accessing(const emu::WatchPoint&,
                   std::span<const emu::MemoryAccess> accesses) noexcept override {
      for (const emu::MemoryAccess& access : accesses)
        if (access.writes()) bytes += access.bytes();
    }
    uint64_t bytes = 0;
  };
  const std::unique_ptr<KernelRun> run = load("accumulate");
  DispatchShape shape;
  shape.workgroup_size[0] = 4;
  ASSERT_TRUE(run->place(arguments({"buf:16", "i32:1"}), shape).ok());
  Stores stores;
  emu::Watcher* const watchers[] = {&stores};
  const RunResult result = run->run({.engine = {.threads = 1}, .watchers = watchers});
  ASSERT_FALSE(result.fault);
  EXPECT_EQ(stores.bytes, result.counters.bytes_global_store);
}

TEST_F(KernelRunTest, CoverageIsTheSameOnAnyNumberOfThreads) {
  const codeobj::CodeObject* const twice[] = {&file_->objects[0], &file_->objects[0]};
  for (const unsigned threads : {1u, 4u}) {
    size_t all = 0;
    const std::vector<ObjectCoverage> coverage =
        find_coverage(twice, threads, [&](size_t, size_t count) { all = count; });
    EXPECT_EQ(all, 2u) << "functions that occur twice are looked at once";
    ASSERT_EQ(coverage.size(), 2u);
    for (const ObjectCoverage& object : coverage) {
      EXPECT_EQ(object.kernels, 2u);
      EXPECT_EQ(object.functions, 2u);
      EXPECT_EQ(object.instructions, 17u + 12u);
      EXPECT_EQ(object.missing_instructions, 0u);
    }
  }
}

}  // namespace
}  // namespace wavetap::replay
