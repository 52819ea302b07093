// Any bytes, the same with checksums made good, and any records: reading a capture ends, stays inside, and
// whatever it accepts can be looked at, run, compared, exported and packed again.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "replay/capture_export.h"
#include "replay/capture_file.h"
#include "replay/capture_pack.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/describe_fault.h"
#include "replay/replay_run.h"
#include "replay/test_capture_input.h"
#include "replay/touched_memory.h"
#include "replay/verify.h"
#include "util/file.h"

namespace {

using namespace wavetap;

class Folder {
 public:
  Folder() {
    char name[] = "/dev/shm/wavetap-fuzz-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What the commands do with a capture: show, replay, verify, export.
void use(const replay::CaptureFile& file, const replay::Capture& capture) {
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  const auto memory = replay::CapturedMemory::load(file, capture);
  if (!memory.ok()) return;
  (void)replay::packed_read_bytes(file, capture);
  const uint16_t* size = capture.dispatch.workgroup_size;
  if (uint64_t{size[0]} * size[1] * size[2] > 1024) return;
  replay::ReplayOptions options;
  options.threads = 1;
  options.watchdog_instructions = 2000;
  options.workgroups = replay::Workgroups{2, 1, 1};
  const replay::ReplayResult ran = replay::run_replay(capture, kernel, **memory, options);
  if (ran.fault) (void)replay::describe_fault(capture, kernel, **memory, *ran.fault);
  if (ran.refusal == replay::Refusal::kNone && capture.has_after)
    (void)replay::verify(file, capture, kernel, **memory, replay::Tolerance());
  (*memory)->restore();
  static const Folder folder;
  (void)replay::export_capture(file, capture, kernel, **memory, options, folder.path() + "/out");
}

// As `capture --append` does with what there is.
void pack(std::span<const std::byte> bytes) {
  static const Folder folder;
  const std::string path = folder.path() + "/input.wtcap";
  if (!util::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).ok())
    return;
  replay::PackOptions options;
  options.only_touched = options.redact = true;
  options.run.threads = 1;
  options.run.watchdog_instructions = 2000;
  options.run.workgroups = replay::Workgroups{1, 1, 1};
  (void)replay::pack_captures({&path, 1}, folder.path() + "/output.wtcap", options);
}

void look_at(std::span<const std::byte> bytes) {
  const auto file = replay::CaptureFile::over(bytes, "input");
  if (!file.ok()) return;
  bool all_small = !(*file)->captures().empty();
  uint32_t sum = 0;
  for (uint32_t id = 0; id <= (*file)->page_count() && id < 64; ++id)
    sum += static_cast<uint32_t>((*file)->page(id)[4095]);
  for (const replay::Capture& capture : (*file)->captures()) {
    uint64_t total = 0;
    for (const replay::CapturedRegion& region : capture.regions) {
      total += region.record.size_bytes;
      sum += static_cast<uint32_t>(
          replay::captured_bytes(**file, capture, replay::State::kAfter, region.end() - 1, 9)[0]);
    }
    uint64_t images = 0;
    for (const auto& object : capture.code_objects) images += object.record.size_bytes;
    const bool is_small = images < 1u << 20 && total < 1u << 24;
    all_small &= is_small;
    if (is_small && capture.has_before) use(**file, capture);
    else if (images < 1u << 20) (void)replay::find_captured_kernel(**file, capture);
  }
  if (all_small) pack(bytes);
  if (sum == UINT32_MAX) std::abort();  // cannot be; the reads above must not be left out
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  look_at({reinterpret_cast<const std::byte*>(data), size});
  look_at(replay::file_of_records(data, size));
  look_at(replay::mended(data, size));
  return 0;
}
