// Cost of one memory, LDS or matrix instruction, by access pattern. items_per_second is wave
// instructions per second of one host core.
#include <benchmark/benchmark.h>

#include "emu/testing/machine.h"

namespace wavetap::emu {
namespace {

constexpr uint64_t kData = TestMachine::kData;

// Runs one instruction over and over, without the interpreter around it.
void repeat(benchmark::State& state, TestMachine& machine, const char* text) {
  const std::vector<std::byte> code =
      assemble(text, machine.dispatch.target, machine.wave.lanes == 64);
  const isa::Program program = isa::decode(code, GpuAddr{TestMachine::kCode},
                                           machine.dispatch.target, machine.wave.lanes == 64);
  const isa::Inst& inst = program.insts()[0];
  const Handler handler = find_handler(inst, {machine.dispatch.target, machine.wave.lanes == 64});
  if (handler == nullptr) {
    state.SkipWithError("no handler");
    return;
  }
  for (auto _ : state) {
    handler(machine.wave, inst);
    benchmark::ClobberMemory();
  }
  if (machine.faulted()) state.SkipWithError("faulted");
  state.SetItemsProcessed(state.iterations());
}

void global(benchmark::State& state, const char* text, int stride, uint64_t exec) {
  TestMachine machine;
  machine.set_exec(exec);
  for (int lane = 0; lane < 64; ++lane) {
    machine.set_v64(2, lane, kData + static_cast<uint64_t>(stride) * static_cast<uint64_t>(lane));
    machine.set_v(12, lane, static_cast<uint32_t>(stride * lane));
  }
  machine.set_s64(4, kData);
  repeat(state, machine, text);
}

// A raw buffer, as libraries of matrix products use them.
void buffer(benchmark::State& state, const char* text, int stride) {
  TestMachine machine;
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v(12, lane, static_cast<uint32_t>(stride * lane));
  machine.set_s64(8, kData);
  machine.set_s(10, 1u << 16);
  machine.set_s(11, 0);
  repeat(state, machine, text);
}

void lds(benchmark::State& state, const char* text, int stride) {
  TestMachine machine;
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v(2, lane, static_cast<uint32_t>(stride * lane));
  repeat(state, machine, text);
}

// A workgroup of 16 columns: a wave has four rows of a tile. Each row reads the same 16 elements,
// or one of its own.
void lds_tile(benchmark::State& state, const char* text, int column_stride, int row_stride) {
  TestMachine machine;
  for (int lane = 0; lane < 64; ++lane)
    machine.set_v(2, lane,
                  static_cast<uint32_t>(lane % 16 * column_stride + lane / 16 * row_stride));
  repeat(state, machine, text);
}

void scratch(benchmark::State& state, const char* text) {
  TestMachine machine;
  machine.set_s64(8, kScratchVa);
  machine.set_s(9, machine.s(9) | 1u << 31);
  machine.set_s(10, 1u << 20);
  machine.set_s(11, 3u << 21 | 1u << 23);
  machine.set_s(32, 0);
  repeat(state, machine, text);
}

void matrix(benchmark::State& state, const char* text, amd::GfxTarget target) {
  TestMachine machine({.target = target, .wave64 = target.major != 11});
  repeat(state, machine, text);
}

constexpr uint64_t kAll = ~uint64_t{0};
BENCHMARK_CAPTURE(global, load_dword_coalesced, "global_load_dword v4, v[2:3], off", 4, kAll);
BENCHMARK_CAPTURE(global, load_dword_saddr_coalesced, "global_load_dword v4, v12, s[4:5]", 4, kAll);
BENCHMARK_CAPTURE(global, load_dword_strided, "global_load_dword v4, v[2:3], off", 128, kAll);
BENCHMARK_CAPTURE(global, load_dword_half_masked, "global_load_dword v4, v[2:3], off", 4,
                  0x5555555555555555);
BENCHMARK_CAPTURE(global, load_dwordx4_coalesced, "global_load_dwordx4 v[4:7], v[2:3], off", 16,
                  kAll);
BENCHMARK_CAPTURE(global, load_ubyte_coalesced, "global_load_ubyte v4, v[2:3], off", 1, kAll);
BENCHMARK_CAPTURE(global, store_dword_coalesced, "global_store_dword v[2:3], v4, off", 4, kAll);
BENCHMARK_CAPTURE(global, store_dwordx4_coalesced, "global_store_dwordx4 v[2:3], v[4:7], off", 16,
                  kAll);
BENCHMARK_CAPTURE(global, flat_load_dword_coalesced, "flat_load_dword v4, v[2:3]", 4, kAll);
BENCHMARK_CAPTURE(global, atomic_add_own_words, "global_atomic_add v[2:3], v4, off", 4, kAll);
BENCHMARK_CAPTURE(global, atomic_add_one_word, "global_atomic_add v[2:3], v4, off", 0, kAll);
BENCHMARK_CAPTURE(global, atomic_add_rtn_one_word, "global_atomic_add v5, v[2:3], v4, off glc", 0,
                  kAll);
BENCHMARK_CAPTURE(global, atomic_add_f32_one_word, "global_atomic_add_f32 v[2:3], v4, off", 0,
                  kAll);
BENCHMARK_CAPTURE(global, atomic_umax_own_words, "global_atomic_umax v[2:3], v4, off", 4, kAll);
BENCHMARK_CAPTURE(buffer, load_dword_coalesced, "buffer_load_dword v4, v12, s[8:11], 0 offen", 4);
BENCHMARK_CAPTURE(buffer, load_dwordx4_strided, "buffer_load_dwordx4 v[4:7], v12, s[8:11], 0 offen",
                  64);
BENCHMARK_CAPTURE(buffer, store_dword_coalesced, "buffer_store_dword v4, v12, s[8:11], 0 offen", 4);
BENCHMARK_CAPTURE(buffer, load_converted,
                  "tbuffer_load_format_xyzw v[4:7], v12, s[8:11], 0 "
                  "format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM] offen",
                  4);
BENCHMARK_CAPTURE(buffer, store_converted,
                  "tbuffer_store_format_xyzw v[4:7], v12, s[8:11], 0 "
                  "format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UNORM] offen",
                  4);
BENCHMARK_CAPTURE(lds, read_b32_consecutive, "ds_read_b32 v4, v2", 4);
BENCHMARK_CAPTURE(lds, read_b32_broadcast, "ds_read_b32 v4, v2", 0);
BENCHMARK_CAPTURE(lds, read_b32_strided, "ds_read_b32 v4, v2", 132);
BENCHMARK_CAPTURE(lds, read_b128_consecutive, "ds_read_b128 v[4:7], v2", 16);
BENCHMARK_CAPTURE(lds_tile, read_b32_row, "ds_read_b32 v4, v2", 4, 0);
BENCHMARK_CAPTURE(lds_tile, read_b32_column, "ds_read_b32 v4, v2", 0, 68);
BENCHMARK_CAPTURE(lds_tile, read_b128_column, "ds_read_b128 v[4:7], v2", 0, 64);
BENCHMARK_CAPTURE(lds, read2_b32, "ds_read2_b32 v[4:5], v2 offset1:16", 4);
BENCHMARK_CAPTURE(lds, write_b32_consecutive, "ds_write_b32 v2, v4", 4);
BENCHMARK_CAPTURE(lds, add_u32, "ds_add_u32 v2, v4", 0);
BENCHMARK_CAPTURE(lds, bpermute, "ds_bpermute_b32 v4, v2, v5", 4);
BENCHMARK_CAPTURE(scratch, buffer_load_dword, "buffer_load_dword v4, off, s[8:11], s32 offset:16");
BENCHMARK_CAPTURE(scratch, buffer_store_dword,
                  "buffer_store_dword v4, off, s[8:11], s32 offset:16");
BENCHMARK_CAPTURE(scratch, scratch_load_dword, "scratch_load_dword v4, off, s32 offset:16");
BENCHMARK_CAPTURE(matrix, mfma_f32_32x32x8f16,
                  "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]",
                  amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_f32_16x16x4f32, "v_mfma_f32_16x16x4f32 a[0:3], v0, v1, a[0:3]",
                  amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_f32_32x32x2f32, "v_mfma_f32_32x32x2f32 a[0:15], v0, v1, a[0:15]",
                  amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_f32_32x32x8bf16_1k,
                  "v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]",
                  amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_i32_32x32x8i8, "v_mfma_i32_32x32x8i8 a[0:15], v0, v1, a[0:15]",
                  amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_f32_4x4x4f16, "v_mfma_f32_4x4x4f16 a[0:3], v[0:1], v[2:3], a[0:3]",
                  amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_f64_16x16x4f64,
                  "v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], a[0:7]", amd::GfxTarget{9, 0, 10});
BENCHMARK_CAPTURE(matrix, mfma_f32_32x32x8_f16_gfx942,
                  "v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[2:3], v[16:31]",
                  amd::GfxTarget{9, 4, 2});
BENCHMARK_CAPTURE(matrix, mfma_f32_32x32x4_xf32,
                  "v_mfma_f32_32x32x4_xf32 v[16:31], v[0:1], v[2:3], v[16:31]",
                  amd::GfxTarget{9, 4, 2});
BENCHMARK_CAPTURE(matrix, mfma_f32_16x16x32_fp8,
                  "v_mfma_f32_16x16x32_fp8_fp8 v[8:11], v[0:1], v[2:3], v[8:11]",
                  amd::GfxTarget{9, 4, 2});
BENCHMARK_CAPTURE(matrix, smfmac_f32_32x32x16_f16,
                  "v_smfmac_f32_32x32x16_f16 v[16:31], v[0:1], v[4:7], v8",
                  amd::GfxTarget{9, 4, 2});
BENCHMARK_CAPTURE(matrix, wmma_f32_16x16x16_f16,
                  "v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]",
                  amd::GfxTarget{11, 0, 0});

}  // namespace
}  // namespace wavetap::emu
