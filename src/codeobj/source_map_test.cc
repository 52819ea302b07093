#include "codeobj/source_map.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "codeobj/code_object.h"
#include "codeobj/parameter_names.h"

namespace wavetap::codeobj {
namespace {

std::vector<std::byte> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at)
    bytes.push_back(static_cast<std::byte>(*at));
  return bytes;
}

std::string text_of(const std::vector<SourceFrame>& frames) {
  std::string text;
  for (const SourceFrame& frame : frames)
    text += frame.function + ":" + std::to_string(frame.line) + " ";
  return text;
}

#ifdef WT_TEST_INLINED
class InlinedCalls : public testing::TestWithParam<const char*> {};

TEST_P(InlinedCalls, AreFramesUpToTheKernel) {
  const std::vector<std::byte> bytes = read(std::string(WT_TEST_INLINED) + GetParam() + ".hsaco");
  const Result<CodeObject> object = CodeObject::open(bytes);
  ASSERT_TRUE(object.ok()) << object.error().message;
  const SourceMap map(object->elf());
  const Kernel* kernel = object->find_kernel("both");
  ASSERT_NE(kernel, nullptr);
  std::set<std::string> seen;
  for (uint64_t at = 0; at < kernel->code.size(); at += 4) {
    const std::vector<SourceFrame> frames = map.frames(kernel->entry_address + at);
    if (frames.empty()) continue;
    seen.insert(text_of(frames));
    EXPECT_TRUE(frames.back().file.ends_with("testdata/inlined.c")) << frames.back().file;
    EXPECT_EQ(frames.back().function, "both");
  }
  EXPECT_TRUE(seen.contains("put:3 put_both:6 both:10 "));
  EXPECT_TRUE(seen.contains("put:3 put_both:7 both:10 "));
  EXPECT_TRUE(map.frames(0).empty());
}

TEST_P(InlinedCalls, HaveAKernelWhoseParametersHaveNames) {
  const std::vector<std::byte> bytes = read(std::string(WT_TEST_INLINED) + GetParam() + ".hsaco");
  const Result<CodeObject> object = CodeObject::open(bytes);
  ASSERT_TRUE(object.ok()) << object.error().message;
  const Kernel* kernel = object->find_kernel("both");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(parameter_names(object->elf(), kernel->entry_address),
            (std::vector<std::string>{"data", "value"}));
  EXPECT_TRUE(parameter_names(object->elf(), kernel->entry_address + 4).empty());
}

TEST_P(InlinedCalls, SurviveDamage) {
  const std::vector<std::byte> bytes = read(std::string(WT_TEST_INLINED) + GetParam() + ".hsaco");
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0xff};
    const Result<CodeObject> object = CodeObject::open(damaged);
    if (!object.ok()) continue;
    (void)SourceMap(object->elf()).frames(0x1700);
    const Kernel* kernel = object->find_kernel("both");
    if (kernel != nullptr) (void)parameter_names(object->elf(), kernel->entry_address);
  }
}

INSTANTIATE_TEST_SUITE_P(DwarfVersions, InlinedCalls, testing::Values("4", "5"));
#endif

TEST(UsersFrame, IsTheInnermostOutsideForeignHeaders) {
  const SourceFrame header{"atomicAdd", "/opt/rocm-6.1.0/include/hip/amd_detail/amd_hip_atomic.h",
                           7, 1};
  const SourceFrame system{"swap", "/usr/include/c++/12/bits/move.h", 7, 1};
  const SourceFrame helper{"helper", "/src/app/helper.h", 3, 1};
  const SourceFrame kernel{"kernel", "/src/app/main.hip", 9, 1};
  EXPECT_EQ(users_frame(std::vector{kernel}), 0u);
  EXPECT_EQ(users_frame(std::vector{header, helper, kernel}), 1u);
  EXPECT_EQ(users_frame(std::vector{helper, kernel}), 0u);
  EXPECT_EQ(users_frame(std::vector{header, system, kernel}), 2u);
  EXPECT_EQ(users_frame(std::vector{header, system}), 0u);
  const SourceFrame hiprtc{"get_x", "/tmp/comgr-8d1999/include/hiprtc_runtime.h", 2583, 1};
  EXPECT_EQ(users_frame(std::vector{hiprtc, kernel}), 1u);
}

}  // namespace
}  // namespace wavetap::codeobj
