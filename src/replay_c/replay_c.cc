// include/wavetap/capture.h over replay. Nothing throws across it.
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "amd/gfx_target.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/describe_fault.h"
#include "replay/replay_run.h"
#include "replay/verify.h"
#include "wavetap/capture.h"

#define WT_API extern "C" __attribute__((visibility("default")))

namespace replay = wavetap::replay;
using wavetap::Result;

struct wavetap_captures {
  std::unique_ptr<replay::CaptureFile> file;
  std::vector<replay::CapturedKernel> kernels;  // by capture
  std::vector<std::string> targets;
};

struct wavetap_replay {
  const wavetap_captures* captures = nullptr;
  size_t number = 0;
  std::unique_ptr<replay::CapturedMemory> memory;
  std::vector<double> seconds;
  std::string printed;

  const replay::Capture& capture() const { return captures->file->captures()[number]; }
  const replay::CapturedKernel& kernel() const { return captures->kernels[number]; }
};

namespace {

enum Code {
  kDone,
  kUsage,
  kDamaged = 10,
  kIsa,
  kNoKernel,
  kLayout,
  kFault,
  kMismatch,
  kArgument,
  kNoMemory
};

thread_local std::string t_error;

int fail(int code, std::string why) {
  t_error = std::move(why);
  return code;
}

int code_of(replay::Refusal refusal) {
  switch (refusal) {
    case replay::Refusal::kNone: return kDone;
    case replay::Refusal::kFile: return kUsage;
    case replay::Refusal::kNoMemory: return kNoMemory;
    case replay::Refusal::kIsa: return kIsa;
    case replay::Refusal::kNoKernel: return kNoKernel;
    case replay::Refusal::kLayout: return kLayout;
    case replay::Refusal::kArgument: return kArgument;
  }
  return kUsage;
}

// Runs `body`; what it throws (memory that cannot be had) becomes an error.
template <class Body>
int guarded(Body body) {
  t_error.clear();
  try {
    return body();
  } catch (const std::exception& problem) {
    return fail(kUsage, problem.what());
  }
}

const replay::Capture* capture_of(const wavetap_captures* file, size_t number) {
  const std::vector<replay::Capture>& all = file->file->captures();
  if (number < all.size()) return &all[number];
  fail(kUsage, file->file->name() + ": no capture " + std::to_string(number) + " in it; it has " +
                   std::to_string(all.size()));
  return nullptr;
}

// Runs of bytes may cross regions that lie side by side.
bool is_captured(const replay::Capture& capture, uint64_t address, size_t bytes) {
  const replay::CapturedRegion* region = capture.region_at(address);
  return region != nullptr && region->has_contents() && region->end() - address >= bytes;
}

int not_there(uint64_t address, size_t bytes) {
  return fail(kUsage, wavetap::errorf("%zu bytes at 0x%llx: not captured, or in two allocations",
                                      bytes, static_cast<unsigned long long>(address))
                          .message);
}

}  // namespace

WT_API int wavetap_capture_version() { return WAVETAP_CAPTURE_VERSION; }
WT_API const char* wavetap_capture_error() { return t_error.c_str(); }

WT_API wavetap_captures* wavetap_capture_open(const char* path) {
  wavetap_captures* opened = nullptr;
  guarded([&] {
    Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
    if (!file.ok()) return fail(kDamaged, file.error().message);
    auto made = std::make_unique<wavetap_captures>();
    made->file = std::move(*file);
    for (const replay::Capture& capture : made->file->captures()) {
      made->kernels.push_back(replay::find_captured_kernel(*made->file, capture));
      made->targets.push_back(wavetap::amd::to_string(capture.target));
    }
    opened = made.release();
    return static_cast<int>(kDone);
  });
  return opened;
}

WT_API void wavetap_capture_close(wavetap_captures* file) { delete file; }
WT_API size_t wavetap_capture_count(const wavetap_captures* file) {
  return file->file->captures().size();
}

WT_API int wavetap_capture_dispatch(const wavetap_captures* file, size_t number,
                                    wavetap_captured_dispatch* out) {
  t_error.clear();
  const replay::Capture* capture = capture_of(file, number);
  if (capture == nullptr) return kUsage;
  *out = {};
  out->kernel = capture->kernel.c_str();
  out->target = file->targets[number].c_str();
  out->model = capture->model.c_str();
  out->program = capture->program.c_str();
  out->fault = capture->fault.c_str();
  out->launch = capture->dispatch.launch;
  for (int axis = 0; axis < 3; ++axis) {
    out->grid[axis] = capture->dispatch.grid_size[axis];
    out->workgroup[axis] = capture->dispatch.workgroup_size[axis];
  }
  out->lds_bytes = capture->dispatch.group_segment_bytes;
  out->scratch_bytes = capture->dispatch.private_segment_bytes;
  out->has_before = capture->has_before ? 1 : 0;
  out->has_after = capture->has_after ? 1 : 0;
  out->is_unordered = capture->is_unordered() ? 1 : 0;
  out->arguments = file->kernels[number].arguments.size();
  return kDone;
}

WT_API int wavetap_capture_argument(const wavetap_captures* file, size_t number, size_t index,
                                    wavetap_captured_argument* out) {
  t_error.clear();
  if (capture_of(file, number) == nullptr) return kUsage;
  const std::vector<replay::CapturedArgument>& all = file->kernels[number].arguments;
  if (index >= all.size())
    return fail(kUsage, "no argument " + std::to_string(index) + "; the kernel has " +
                            std::to_string(all.size()));
  const replay::CapturedArgument& argument = all[index];
  *out = {};
  out->name = argument.arg.name.c_str();
  out->type = argument.type.c_str();
  out->kind = argument.arg.value_kind.c_str();
  out->element = argument.element.c_str();
  out->offset = argument.arg.offset;
  out->value = argument.value.data();
  out->value_bytes = argument.value.size();
  out->pointer = argument.region == nullptr ? 0 : argument.pointer;
  out->extent_bytes = argument.extent_bytes;
  out->is_hidden = argument.arg.is_hidden() ? 1 : 0;
  return kDone;
}

WT_API int wavetap_capture_read(const wavetap_captures* file, size_t number, int after,
                                uint64_t address, void* to, size_t bytes) {
  return guarded([&] {
    const replay::Capture* capture = capture_of(file, number);
    if (capture == nullptr) return static_cast<int>(kUsage);
    if (after != 0 && !capture->has_after)
      return fail(kUsage, file->file->name() + ": has no state after the kernel");
    if (!is_captured(*capture, address, bytes)) return not_there(address, bytes);
    const std::vector<std::byte> read = replay::captured_bytes(
        *file->file, *capture, after != 0 ? replay::State::kAfter : replay::State::kBefore, address,
        bytes);
    if (bytes > 0) std::memcpy(to, read.data(), bytes);
    return static_cast<int>(kDone);
  });
}

WT_API wavetap_replay* wavetap_replay_new(const wavetap_captures* file, size_t number) {
  wavetap_replay* opened = nullptr;
  guarded([&] {
    const replay::Capture* capture = capture_of(file, number);
    if (capture == nullptr) return static_cast<int>(kUsage);
    if (!capture->has_before)
      return fail(kDamaged, file->file->name() + ": ends before the capture is whole");
    Result<std::unique_ptr<replay::CapturedMemory>> memory =
        replay::CapturedMemory::load(*file->file, *capture);
    if (!memory.ok()) return fail(kNoMemory, memory.error().message);
    opened = new wavetap_replay{file, number, std::move(*memory), {}, ""};
    return static_cast<int>(kDone);
  });
  return opened;
}

WT_API void wavetap_replay_free(wavetap_replay* replay) { delete replay; }
WT_API void wavetap_replay_restore(wavetap_replay* replay) { replay->memory->restore(); }

WT_API int wavetap_replay_run(wavetap_replay* run, const wavetap_replay_options* options) {
  return guarded([&] {
    replay::ReplayOptions how;
    if (options != nullptr) {
      how.iterations = options->iterations == 0 ? 1 : options->iterations;
      how.threads = options->threads;
      how.seed = options->seed;
      if (options->swap != nullptr) how.swap = options->swap;
    }
    run->printed.clear();
    how.printed = [run](std::string_view text, bool) { run->printed += text; };
    const replay::ReplayResult result =
        replay::run_replay(run->capture(), run->kernel(), *run->memory, how);
    run->seconds = result.seconds;
    if (result.refusal != replay::Refusal::kNone) return fail(code_of(result.refusal), result.why);
    if (result.fault)
      return fail(kFault, run->capture().kernel + ": " +
                              replay::describe_fault(run->capture(), run->kernel(), *run->memory,
                                                     *result.fault));
    return static_cast<int>(kDone);
  });
}

WT_API const double* wavetap_replay_seconds(const wavetap_replay* replay, size_t* count) {
  *count = replay->seconds.size();
  return replay->seconds.data();
}

WT_API const char* wavetap_replay_printed(const wavetap_replay* replay) {
  return replay->printed.c_str();
}

WT_API int wavetap_replay_read(const wavetap_replay* replay, uint64_t address, void* to,
                               size_t bytes) {
  t_error.clear();
  const auto& memory = static_cast<const replay::CapturedMemory&>(*replay->memory);
  const std::span<const std::byte> from = memory.bytes({address}, bytes);
  if (from.size() != bytes) return not_there(address, bytes);
  if (bytes > 0) std::memcpy(to, from.data(), bytes);
  return kDone;
}

WT_API int wavetap_replay_write(wavetap_replay* replay, uint64_t address, const void* from,
                                size_t bytes) {
  t_error.clear();
  const std::span<std::byte> to = replay->memory->bytes({address}, bytes);
  if (to.size() != bytes) return not_there(address, bytes);
  if (bytes > 0) std::memcpy(to.data(), from, bytes);
  return kDone;
}

WT_API int wavetap_replay_compare(const wavetap_replay* replay, const char* tolerance,
                                  wavetap_comparison* out) {
  return guarded([&] {
    if (!replay->capture().has_after)
      return fail(kUsage, replay->captures->file->name() + ": has no state after the kernel");
    const Result<replay::Tolerance> limit =
        replay::parse_tolerances(tolerance == nullptr ? "" : tolerance);
    if (!limit.ok()) return fail(kUsage, limit.error().message);
    const replay::Verdict verdict = replay::verify(*replay->captures->file, replay->capture(),
                                                   replay->kernel(), *replay->memory, *limit);
    wavetap_comparison found = {verdict.written_bytes, verdict.differing, 0};
    if (!verdict.buffers.empty()) {
      const replay::BufferDifference& first = verdict.buffers.front();
      found.first_address = first.base + first.first_index * first.expected.size();
    }
    if (out != nullptr) *out = found;
    if (verdict.equal()) return static_cast<int>(kDone);
    return fail(kMismatch, replay->capture().kernel + ": " + std::to_string(verdict.differing) +
                               " elements are not as captured");
  });
}
