// What a raw trace refuses; that it holds every instruction is shown on real kernels, in
// tests/cli/golden/trace_instructions.test.
#include "itrace/att.h"

#include <gtest/gtest.h>

#include <cstring>

namespace wavetap::itrace {
namespace {

Trace two_waves() {
  Trace trace;
  trace.code = {{"; k", "", 1, 0x1100}, {"s_nop 0", "", 1, 0x1100}, {"s_endpgm", "", 1, 0x1104}};
  trace.entry_row = 1;
  for (uint32_t slot : {0u, 11u}) {
    Wave wave;
    wave.se = 3;
    wave.cu = 5;
    wave.slot = slot;
    wave.begin = 64;
    wave.issues = {{68, 2000, 2004, 1, Category::kImmed}, {2072, 0, 4, 2, Category::kImmed}};
    wave.end = 2076;
    trace.waves.push_back(wave);
  }
  return trace;
}

std::vector<std::byte> written(uint64_t* left_out) {
  return write_att(two_waves(), {3, 5}, {7, 0x7f0000000000, 0x4000}, true, left_out);
}

std::string complaint(std::span<const std::byte> bytes) {
  const Result<Trace> trace = read_att(
      bytes, [](uint64_t) { return std::vector<std::byte>(); }, "x.att");
  return trace.ok() ? "" : trace.error().message;
}

TEST(Att, HeaderNamesEngineUnitAndGeneration) {
  uint64_t left_out = 0;
  const std::vector<std::byte> bytes = written(&left_out);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header & 0x1fff, 0x11u);
  EXPECT_EQ(header >> 13 & 7, 5u);
  EXPECT_EQ(header >> 16 & 15, 1u);  // SIMD 0
  EXPECT_EQ(header >> 20 & 31, 5u);
  EXPECT_EQ(header >> 26 & 63, 3u);
  EXPECT_EQ(left_out, 1u);  // slot 11
}

TEST(Att, SaysWhatIsMissing) {
  uint64_t left_out = 0;
  std::vector<std::byte> bytes = written(&left_out);
  EXPECT_EQ(complaint(bytes), "x.att: needs code object 7; put …code_object_id_7.out beside it");
  EXPECT_EQ(complaint({bytes.data(), 5}),
            "x.att: has 5 bytes, and its header alone has 8; record it again");
  EXPECT_EQ(complaint({bytes.data(), 8}),
            "x.att: does not say which code object its waves run; record it again");
  bytes[0] = std::byte{0x12};
  EXPECT_EQ(
      complaint(bytes),
      "x.att: byte 0: not a thread trace of gfx9; those of gfx10 and later are read as the folder "
      "ui_output_… that rocprofv3 makes of them");
}

TEST(Att, NamesTheByteOfATokenThatCannotBe) {
  uint64_t left_out = 0;
  std::vector<std::byte> bytes = written(&left_out);
  const size_t at = bytes.size();
  bytes.push_back(std::byte{0x80 | 10});  // an instruction of wave slot 12
  bytes.push_back(std::byte{0x01});
  EXPECT_EQ(complaint(bytes),
            "x.att: byte " + std::to_string(at) +
                ": a token names wave slot 12, and there are 10; record it again");
}

}  // namespace
}  // namespace wavetap::itrace
