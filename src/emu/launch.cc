// The initial state of a wave, as the AMDGPU ABI defines it (LLVM, "User Guide for AMDGPU Backend":
// Initial Kernel Execution State) for code object versions 2 to 5.
//
//   SGPRs  user:   private segment buffer(4) dispatch ptr(2) queue ptr(2) kernarg ptr(2) dispatch id(2)
//                  flat scratch init(2) [preloaded kernel arguments] private segment size(1), those that
//                  the descriptor enables, then padding up to its USER_SGPR_COUNT
//          system: workgroup id x, y, z, workgroup info, scratch wave offset, likewise
//   VGPRs  work-item ids: v0, v1, v2, or packed into v0
//   EXEC   the lanes that exist
//
// Scratch: each wave sees its own at kScratchVa. The buffer descriptor swizzles by lane, so byte
// `off` of a lane is at (off / 4) * 4 * wave size + lane * 4 + off % 4, the same place flat and
// scratch instructions use. The wave offset, which hardware uses to tell waves apart, is therefore
// always 0.
#include "emu/launch.h"
#include "base/round_up.h"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include "emu/compiler.h"
#include "emu/guest_read.h"
#include "emu/hwreg.h"
#include "emu/watch.h"

namespace wavetap::emu {
namespace {

constexpr uint32_t kMaxWorkItems = 1024;
constexpr uint64_t kMaxGroups = uint64_t{1} << 62;
constexpr uint32_t kMaxScratchBytesPerWave = 8 << 20;  // COMPUTE_TMPRING_SIZE.WAVESIZE
// Where kernels start that expect preloaded arguments.
constexpr uint32_t kPreloadEntryOffset = 256;

std::optional<Fault> bad(const Dispatch& dispatch, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
std::optional<Fault> bad(const Dispatch& dispatch, const char* format, ...) {
  Fault fault;
  fault.kind = FaultKind::kBadDescriptor;
  fault.kernel_object = dispatch.kernel_object;
  va_list args;
  va_start(args, format);
  std::vsnprintf(fault.detail, sizeof fault.detail, format, args);
  va_end(args);
  return fault;
}

uint32_t max_lds_bytes(amd::GfxTarget target) {
  return target == amd::GfxTarget{9, 5, 0} ? 160 * 1024 : 64 * 1024;
}

// Registers granted by rsrc1, in rows of the wave's storage.
void set_registers(Launch& launch, amd::GfxTarget target) {
  const uint32_t granule =
      target.is_gfx90a_family() || (target.major >= 10 && !launch.wave64) ? 8 : 4;
  const uint32_t granted = ((launch.descriptor.rsrc1 & 0x3f) + 1) * granule;
  if (target.is_gfx90a_family()) {
    // One file of up to 512: v0… up to the accum offset, a0… from there. Nobody stops a v… that goes on
    // into the a…: kernels of hipBLASLt do.
    launch.rows = std::min(granted, 512u);
    launch.agpr_first_row = std::min(launch.descriptor.accum_offset(), launch.rows);
    launch.registers = {.vgprs = std::min(launch.agpr_first_row, 256u),
                        .agprs = std::min(launch.rows - launch.agpr_first_row, 256u),
                        .file_vgprs = std::min(launch.rows, 256u)};
    return;
  }
  launch.registers = {.vgprs = std::min(granted, 256u)};
  launch.rows = launch.registers.vgprs;
  if (target.has_mfma()) {  // gfx908: as many accumulation registers again, in a file of their own
    launch.registers.agprs = launch.registers.vgprs;
    launch.agpr_first_row = launch.rows;
    launch.rows *= 2;
  }
}

std::optional<Fault> set_geometry(Launch& launch) {
  const Dispatch& dispatch = *launch.dispatch;
  uint64_t items = 1;
  launch.group_count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t size = dispatch.workgroup_size[axis];
    const uint32_t grid = dispatch.grid_size[axis];
    if (size == 0 || grid == 0) return bad(dispatch, "grid or workgroup size 0 on axis %d", axis);
    items *= size;
    launch.groups[axis] = (uint64_t{grid} + size - 1) / size;
    if (launch.groups[axis] > kMaxGroups / launch.group_count)
      return bad(dispatch, "too many workgroups");
    launch.group_count *= launch.groups[axis];
  }
  if (items > kMaxWorkItems)
    return bad(dispatch, "workgroup of %llu work-items; the limit is %u",
               static_cast<unsigned long long>(items), kMaxWorkItems);
  launch.waves_per_group = static_cast<uint32_t>((items + launch.lanes - 1) / launch.lanes);
  return std::nullopt;
}

std::optional<Fault> set_memory_sizes(Launch& launch) {
  const Dispatch& dispatch = *launch.dispatch;
  const uint32_t limit = max_lds_bytes(dispatch.target);
  if (dispatch.group_segment_bytes > limit)
    return bad(dispatch, "%u bytes of LDS; the limit is %u", dispatch.group_segment_bytes, limit);
  const uint32_t lds_granule = dispatch.target.major >= 11 ? 1024 : 512;
  launch.lds_bytes = static_cast<uint32_t>(
      std::min<uint64_t>(round_up(dispatch.group_segment_bytes, lds_granule), limit));

  // Allocated per wave in units of 1 KiB.
  const uint64_t per_wave = round_up(uint64_t{dispatch.private_segment_bytes} * launch.lanes, 1024);
  if (per_wave > kMaxScratchBytesPerWave)
    return bad(dispatch, "%u bytes of scratch per work-item; the limit is %u",
               dispatch.private_segment_bytes, kMaxScratchBytesPerWave / launch.lanes);
  launch.scratch_bytes_per_lane = static_cast<uint32_t>(per_wave / launch.lanes);
  return std::nullopt;
}

// V# of the private segment. Word 3 differs per generation where it describes the data format;
// swizzled dword accesses do not depend on that part.
void private_segment_buffer(const Launch& launch, uint32_t* word) {
  constexpr uint32_t kSwizzleEnable = 1u << 31;
  constexpr uint32_t kAddTidEnable = 1u << 23;
  constexpr uint32_t kSelectXyzw = 4 | 5 << 3 | 6 << 6 | 7 << 9;
  const uint32_t index_stride = launch.lanes == 64 ? 3 : 2;
  word[0] = static_cast<uint32_t>(kScratchVa);
  word[1] = (static_cast<uint32_t>(kScratchVa >> 32) & 0xffff) | kSwizzleEnable;
  word[2] = launch.scratch_bytes_per_lane * launch.lanes;
  word[3] = kSelectXyzw | index_stride << 21 | kAddTidEnable;
  if (launch.dispatch->target.major >= 10)
    word[3] |= 1u << 24 | 2u << 28;  // resource level, no bounds by stride
}

std::optional<Fault> set_user_sgprs(Launch& launch, RunGuarded run_guarded) {
  const Dispatch& dispatch = *launch.dispatch;
  const amd::KernelDescriptor& kernel = launch.descriptor;
  const bool architected = dispatch.target.has_architected_scratch();
  uint32_t* const out = launch.user_sgprs;
  uint32_t count = 0;
  const auto put64 = [&](uint64_t value) {
    out[count++] = static_cast<uint32_t>(value);
    out[count++] = static_cast<uint32_t>(value >> 32);
  };
  if (kernel.has(amd::kPrivateSegmentBuffer) && !architected) {
    private_segment_buffer(launch, out);
    count += 4;
  }
  if (kernel.has(amd::kDispatchPtr)) put64(dispatch.packet.value);
  if (kernel.has(amd::kQueuePtr)) put64(dispatch.queue.value);
  if (kernel.has(amd::kKernargSegmentPtr)) put64(dispatch.kernarg.value);
  if (kernel.has(amd::kDispatchId)) put64(dispatch.dispatch_id);
  if (kernel.has(amd::kFlatScratchInit) && !architected) put64(kScratchVa);
  launch.entry = {dispatch.kernel_object.value + static_cast<uint64_t>(kernel.entry_offset)};
  if (const uint32_t preload = kernel.kernarg_preload & 0x7f;
      preload != 0 && dispatch.target.has_kernarg_preload()) {
    const uint32_t offset = (kernel.kernarg_preload >> 7 & 0x1ff) * 4;
    const uint32_t dwords = std::min(preload, 16u);
    uint32_t arguments[16];
    if (!guest_read(*dispatch.memory, run_guarded, dispatch.kernarg + offset,
                    std::as_writable_bytes(std::span(arguments, dwords))))
      return bad(dispatch, "kernel arguments to preload are not mapped");
    for (uint32_t i = 0; i < dwords; ++i) out[count++] = arguments[i];
    launch.entry = launch.entry + kPreloadEntryOffset;
  }
  if (kernel.has(amd::kPrivateSegmentSize)) out[count++] = dispatch.private_segment_bytes;
  launch.user_sgpr_count = std::max(count, kernel.user_sgpr_count());
  return std::nullopt;
}

// Of the wave that `wave` is in a workgroup of `size`, into rows one after the other.
void set_work_item_ids(const Launch& launch, uint32_t wave, const uint32_t size[3],
                       uint32_t lanes_on, uint32_t* rows) {
  const bool is_packed = launch.dispatch->target.has_packed_work_item_ids();
  const uint32_t first = wave * launch.lanes;
  uint32_t x = first % size[0];
  uint32_t y = first / size[0] % size[1];
  uint32_t z = first / size[0] / size[1];
  uint32_t* const row_y = launch.id_rows > 1 ? rows + launch.lanes : nullptr;
  uint32_t* const row_z = launch.id_rows > 2 ? rows + size_t{2} * launch.lanes : nullptr;
  for (uint32_t lane = 0; lane < lanes_on;) {
    const uint32_t end = std::min(lanes_on, lane + size[0] - x);
    const uint32_t upper = is_packed ? y << 10 | z << 20 : 0;
    if (row_y != nullptr) std::fill(row_y + lane, row_y + end, y);
    if (row_z != nullptr) std::fill(row_z + lane, row_z + end, z);
    for (; lane < end; ++lane) rows[lane] = x++ | upper;
    x = 0;
    if (++y == size[1]) y = 0, ++z;
  }
}

// Those of a whole workgroup, once for all.
void set_whole_work_item_ids(Launch& launch) {
  const uint32_t mode = launch.descriptor.work_item_id_mode();
  // A kernel may ask for ids and be granted fewer registers than that; then nobody can read them.
  const uint32_t wanted = launch.dispatch->target.has_packed_work_item_ids() ? 1 : mode + 1;
  launch.id_rows = std::min({wanted, 3u, launch.registers.vgprs});
  uint32_t size[3];
  std::copy_n(launch.dispatch->workgroup_size, 3, size);
  const size_t per_wave = size_t{launch.id_rows} * launch.lanes;
  launch.work_item_ids.assign(per_wave * launch.waves_per_group, launch.initial_fill);
  const uint32_t items = size[0] * size[1] * size[2];
  for (uint32_t i = 0; i < launch.waves_per_group; ++i)
    set_work_item_ids(launch, i, size, std::min(launch.lanes, items - i * launch.lanes),
                      &launch.work_item_ids[i * per_wave]);
}

// The wave offset, which may follow the workgroup's, is 0.
void set_sgprs(const Launch& launch, const Workgroup& group, Wave& wave) {
  namespace slot = isa::slot;
  const amd::KernelDescriptor& kernel = launch.descriptor;
  const amd::GfxTarget target = launch.dispatch->target;
  std::memcpy(wave.s, launch.user_sgprs, launch.user_sgpr_count * sizeof(uint32_t));
  uint32_t at = launch.user_sgpr_count;
  if (target.major >= 12) {
    wave.s[slot::kTtmp0 + 9] = group.id[0];
    wave.s[slot::kTtmp0 + 7] = (group.id[1] & 0xffff) | group.id[2] << 16;
  } else {
    for (int axis = 0; axis < 3; ++axis)
      if (kernel.workgroup_id(axis)) wave.s[at++] = group.id[axis];
  }
  if (kernel.workgroup_info()) {
    const bool first = wave.wave_in_group == 0;
    wave.s[at] = (first ? 1u << 31 : 0) | static_cast<uint32_t>(group.waves.size());
  }
  if (target.has_architected_scratch()) wave.set_s64(slot::kFlatScratchLo, kScratchVa);
  wave.set_s64(slot::kSharedBase, kSharedAperture);
  wave.set_s64(slot::kSharedLimit, kSharedAperture | 0xffffffffu);
  wave.set_s64(slot::kPrivateBase, kPrivateAperture);
  wave.set_s64(slot::kPrivateLimit, kPrivateAperture | 0xffffffffu);
}

// Makes `wave` what `first` is: scalar registers are mostly 0, and nobody looks at the last fault.
void start_as(Wave& wave, const Wave& first) {
  static_assert(std::is_trivially_copyable_v<Wave>);
  constexpr size_t kBegin = sizeof wave.s;
  constexpr size_t kEnd = offsetof(Wave, fault);
  std::memset(wave.s, 0, sizeof wave.s);
  std::memcpy(reinterpret_cast<std::byte*>(&wave) + kBegin,
              reinterpret_cast<const std::byte*>(&first) + kBegin, kEnd - kBegin);
}

void set_first_wave(Launch& launch) {
  Wave& wave = launch.first_wave;
  wave.lanes = static_cast<uint8_t>(launch.lanes);
  wave.dispatch = launch.dispatch;
  wave.vgpr_count = std::max(launch.registers.vgprs, launch.registers.file_vgprs);
  wave.agpr_count = launch.registers.agprs;
  wave.lds_bytes = launch.lds_bytes;
  wave.scratch_bytes_per_lane = launch.scratch_bytes_per_lane;
  const amd::KernelDescriptor& kernel = launch.descriptor;
  set_mode_register(wave, kernel.float_mode() | (kernel.dx10_clamp() ? 1u << 8 : 0) |
                              (kernel.ieee_mode() ? 1u << 9 : 0) |
                              (kernel.fp16_overflow() ? 1u << 23 : 0));
  enter(wave, *launch.code, launch.entry_index);
}

void fill(std::byte* at, size_t size_bytes, uint32_t value) {
  if (value == 0) {
    std::memset(at, 0, size_bytes);
    return;
  }
  for (size_t i = 0; i + 4 <= size_bytes; i += 4) std::memcpy(at + i, &value, 4);
}

// `read`: null where all have to be cleared.
void clear_rows(const Launch& launch, Wave& wave, const std::vector<RowRange>* read) {
  const auto clear = [&](uint32_t begin, uint32_t end) {
    if (begin >= end) return;
    auto* rows = reinterpret_cast<std::byte*>(wave.vrow(begin));
    fill(rows, size_t{end - begin} * launch.lanes * sizeof(uint32_t), launch.initial_fill);
  };
  if (read == nullptr) return clear(0, launch.rows);
  const uint32_t count = launch.registers.vgprs;
  for (const RowRange& range : *read) clear(range.begin, std::min(range.end, count));
  clear(count, launch.rows);  // accumulation registers
}

void set_watch(const Dispatch& dispatch, Workgroup& group) {
  Watch& watch = group.watch;
  watch.counters = dispatch.count ? &group.counters : nullptr;
  watch.watchers = dispatch.watchers;
  for (void*& state : watch.state) state = nullptr;
  watch.now = nullptr;
  watch.hears_barriers = watch.hears_waves = 0;
  for (size_t i = 0; i < dispatch.watchers.size(); ++i) {
    if (dispatch.watchers[i]->hears_barriers()) watch.hears_barriers |= 1u << i;
    if (dispatch.watchers[i]->hears_waves()) watch.hears_waves |= 1u << i;
  }
  if (!dispatch.watchers.empty() && watch.kept == nullptr)
    watch.kept = std::make_unique<KeptAccesses>();
}

}  // namespace

AlignedBytes::~AlignedBytes() { std::free(data_); }

std::byte* AlignedBytes::reserve(size_t size_bytes) {
  if (size_bytes <= capacity_ && data_ != nullptr) return data_;
  std::free(data_);
  capacity_ = (std::max<size_t>(size_bytes, 1) + 63) / 64 * 64;
  data_ = static_cast<std::byte*>(std::aligned_alloc(64, capacity_));
  if (data_ == nullptr) capacity_ = 0;
  return data_;
}

size_t Launch::storage_bytes_per_group() const {
  const size_t per_wave = kCompiledStateBytes + size_t{rows} * lanes * 4 +
                          size_t{scratch_bytes_per_lane} * lanes + sizeof(Wave);
  return per_wave * waves_per_group + lds_bytes + sizeof(Workgroup);
}

std::optional<Fault> prepare_launch(const Dispatch& dispatch, const EngineOptions& options,
                                    CodeCache& cache, uint64_t serial, Launch* launch) {
  launch->dispatch = &dispatch;
  launch->initial_fill = options.initial_fill;
  if (!guest_read(*dispatch.memory, options.run_guarded, dispatch.kernel_object,
                  std::as_writable_bytes(std::span(&launch->descriptor, 1))))
    return bad(dispatch, "kernel object 0x%llx is not mapped",
               static_cast<unsigned long long>(dispatch.kernel_object.value));
  launch->wave64 = !(dispatch.target.has_wave32() && launch->descriptor.has(amd::kWavefrontSize32));
  if (!dispatch.target.has_wave32() && launch->descriptor.has(amd::kWavefrontSize32))
    return bad(dispatch, "wave32 kernel; this GPU has wave64 only");
  launch->lanes = launch->wave64 ? 64 : 32;
  set_registers(*launch, dispatch.target);
  if (std::optional<Fault> fault = set_geometry(*launch)) return fault;
  if (std::optional<Fault> fault = set_memory_sizes(*launch)) return fault;
  if (std::optional<Fault> fault = set_user_sgprs(*launch, options.run_guarded)) return fault;

  launch->code_key = {dispatch.memory,
                      dispatch.target,
                      launch->wave64,
                      {.registers = launch->registers,
                       .sram_ecc = dispatch.sram_ecc,
                       .counts_heat = options.compiler != nullptr && dispatch.watchers.empty()},
                      dispatch.watchers};
  if (dispatch.watchers.size() > kMaxWatchers)
    return bad(dispatch, "%zu watchers; the limit is %zu", dispatch.watchers.size(), kMaxWatchers);
  for (size_t i = 0; i < dispatch.watchers.size(); ++i)
    launch->code_key.lowering.watchers[i] = dispatch.watchers[i]->id();
  if (launch->entry.value % 4 != 0) return bad(dispatch, "code entry is not aligned to 4 bytes");
  const uint64_t skipped = launch->entry.value - dispatch.kernel_object.value -
                           static_cast<uint64_t>(launch->descriptor.entry_offset);
  CodeCache::Found found =
      cache.find(launch->code_key, launch->entry, serial,
                 dispatch.code_bytes > skipped ? dispatch.code_bytes - skipped : 0);
  if (found.code == nullptr) {
    Fault fault;
    fault.kind = found.fault;
    fault.pc = fault.address = launch->entry;
    fault.kernel_object = dispatch.kernel_object;
    fault.wave64 = launch->wave64;
    std::snprintf(fault.detail, sizeof fault.detail, "the kernel's entry point");
    return fault;
  }
  launch->code = std::move(found.code);
  launch->entry_index = found.index;
  set_first_wave(*launch);
  set_whole_work_item_ids(*launch);
  return std::nullopt;
}

bool start_workgroup(const Launch& launch, uint64_t linear, Workgroup& group) {
  const Dispatch& dispatch = *launch.dispatch;
  group.dispatch = &dispatch;
  group.linear_id = linear;
  group.id[0] = static_cast<uint32_t>(linear % launch.groups[0]);
  group.id[1] = static_cast<uint32_t>(linear / launch.groups[0] % launch.groups[1]);
  group.id[2] = static_cast<uint32_t>(linear / launch.groups[0] / launch.groups[1]);
  uint32_t items = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t begin = uint64_t{group.id[axis]} * dispatch.workgroup_size[axis];
    group.size[axis] = static_cast<uint32_t>(
        std::min<uint64_t>(dispatch.workgroup_size[axis], dispatch.grid_size[axis] - begin));
    items *= group.size[axis];
  }
  const bool is_whole = std::equal(group.size, group.size + 3, dispatch.workgroup_size);
  const uint32_t waves = (items + launch.lanes - 1) / launch.lanes;
  const size_t id_bytes = sizeof(uint32_t) * launch.id_rows * launch.lanes;
  const size_t row_bytes = size_t{launch.lanes} * 4;
  const size_t register_bytes = kCompiledStateBytes + row_bytes * launch.rows;
  const size_t scratch_bytes = size_t{launch.scratch_bytes_per_lane} * launch.lanes;
  std::byte* registers = group.registers.reserve(register_bytes * waves);
  std::byte* scratch = group.scratch.reserve(scratch_bytes * waves);
  group.lds = group.lds_storage.reserve(launch.lds_bytes);
  if (registers == nullptr || scratch == nullptr || group.lds == nullptr) return false;
  group.lds_bytes = launch.lds_bytes;
  fill(scratch, scratch_bytes * waves, launch.initial_fill);
  fill(group.lds, launch.lds_bytes, launch.initial_fill);

  group.unfinished = waves;
  group.interrupt_requested = false;
  group.counters = {};
  group.counters.workgroups = 1;
  group.counters.waves = waves;
  const bool is_watched = dispatch.count || !dispatch.watchers.empty();
  set_watch(dispatch, group);
  group.waves.resize(waves);
  const std::vector<RowRange>* rows_read =
      launch.entry_index == 0 ? launch.code->rows_read_at_start() : nullptr;
  for (uint32_t i = 0; i < waves; ++i) {
    Wave& wave = group.waves[i];
    start_as(wave, launch.first_wave);
    wave.wave_in_group = i;
    wave.workgroup = &group;
    wave.has_others = waves > 1;
    wave.compiled_state = registers + register_bytes * i;
    wave.v = reinterpret_cast<uint32_t*>(wave.compiled_state + kCompiledStateBytes);
    const uint32_t here = std::min(items - i * launch.lanes, launch.lanes);
    clear_rows(launch, wave, here == launch.lanes ? rows_read : nullptr);
    forget_compiled_state(wave.compiled_state);
    wave.a = wave.v + size_t{launch.agpr_first_row} * launch.lanes;
    wave.lds = group.lds;
    wave.scratch = scratch + scratch_bytes * i;
    wave.watch = is_watched ? &group.watch : nullptr;
    wave.notes_accesses = group.watch.counters != nullptr;
    wave.set_s64(isa::slot::kExecLo, here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1);
    set_sgprs(launch, group, wave);
    if (is_whole)
      std::memcpy(wave.v, &launch.work_item_ids[i * id_bytes / sizeof(uint32_t)], id_bytes);
    else set_work_item_ids(launch, i, group.size, here, wave.v);
  }
  return true;
}

}  // namespace wavetap::emu
