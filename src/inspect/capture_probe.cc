#include "inspect/capture_probe.h"

#include <cstring>
#include <map>

#include "amd/kernel_descriptor.h"
#include "codeobj/image.h"
#include "inspect/listing.h"
#include "probe/result_files.h"
#include "probe/session.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"

namespace wavetap::inspect {
namespace {

using replay::Capture;
using replay::CapturedCodeObject;
using replay::CapturedMemory;
using replay::CaptureFile;

// A code object of the capture that holds an address.
struct Home {
  std::vector<std::byte> image;
  uint64_t linked = 0;
};

Home find_home(const CaptureFile& file, const Capture& capture, const probe::Code& code) {
  const uint64_t address = code.described.address;
  for (const CapturedCodeObject& object : capture.code_objects) {
    if (object.record.load_delta > address) continue;
    std::vector<std::byte> image = file.code_object_bytes(object);
    const auto elf = codeobj::ElfView::open(image);
    const uint64_t linked = address - object.record.load_delta;
    if (elf && !elf->at_address(linked, code.size_bytes).empty()) return {std::move(image), linked};
  }
  return {};
}

class CaptureProbeFiles final : public probe::ResultFiles {
 public:
  CaptureProbeFiles(const std::string& folder, const CaptureFile& file, const Capture& capture)
      : ResultFiles(folder), file_(file), capture_(capture) {}

  uint32_t source(const probe::Code& code, uint32_t site, uint32_t frame,
                  wavetap_source* out) noexcept override {
    Known& known = known_[code.described.id];
    if (known.map == nullptr) {
      known.home = find_home(file_, capture_, code);
      Result<codeobj::CodeObject> object = codeobj::CodeObject::open(known.home.image);
      if (!object.ok()) return 0;
      known.object = std::make_unique<codeobj::CodeObject>(std::move(*object));
      known.map = std::make_unique<codeobj::SourceMap>(known.object->elf());
    }
    auto [frames, is_new] = known.frames.emplace(site, std::vector<Frame>());
    if (is_new) frames->second = known.map->frames(known.home.linked + code.sites[site].offset);
    if (frame < frames->second.size() && out != nullptr) {
      const Frame& found = frames->second[frame];
      out->file = found.file.c_str();
      out->function = found.function.c_str();
      out->line = found.line;
      out->column = found.column;
    }
    return static_cast<uint32_t>(frames->second.size());
  }

  bool buffer(uint32_t, uint64_t address, wavetap_buffer* out) noexcept override {
    const replay::CapturedRegion* region = capture_.region_at(address);
    if (region == nullptr) return false;
    out->address = region->begin();
    out->size_bytes = region->record.size_bytes;
    out->kind = "captured memory";
    return true;
  }

 private:
  // Handlers may keep the names.
  struct Known {
    Home home;
    std::unique_ptr<codeobj::CodeObject> object;
    std::unique_ptr<codeobj::SourceMap> map;
    std::map<uint32_t, std::vector<Frame>> frames;
  };
  const CaptureFile& file_;
  const Capture& capture_;
  std::map<uint32_t, Known> known_;
};

probe::DispatchFacts facts_of(const Capture& capture, CapturedMemory& memory, uint32_t line_bytes) {
  probe::DispatchFacts facts;
  facts.kernel = capture.kernel;
  facts.gpu_model = capture.model;
  facts.line_bytes = line_bytes;
  amd::KernelDescriptor descriptor{};
  const std::span<const std::byte> bytes =
      memory.bytes({capture.dispatch.kernel_object}, sizeof descriptor);
  if (bytes.empty()) return facts;
  std::memcpy(&descriptor, bytes.data(), sizeof descriptor);
  facts.wave64 = !capture.target.has_wave32() || !descriptor.has(amd::kWavefrontSize32);
  const std::span<const std::byte> kernarg =
      memory.bytes({capture.dispatch.kernarg}, descriptor.kernarg_size);
  facts.kernarg.assign(kernarg.begin(), kernarg.end());
  return facts;
}

}  // namespace

Result<replay::ReplayResult> probe_capture(const CaptureFile& file, const Capture& capture,
                                           const CaptureProbeOptions& options) {
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  Result<std::unique_ptr<CapturedMemory>> memory = CapturedMemory::load(file, capture);
  if (!memory.ok()) return memory.error();
  CaptureProbeFiles files(options.folder, file, capture);
  probe::Session session(files);
  for (const probe::RefusedHandler& refused : probe::open_handlers(options.handlers, session))
    files.refused(refused.name, refused.why);
  const probe::DispatchFacts facts = facts_of(capture, **memory, options.line_bytes);
  probe::DispatchRecord record;
  record.launch = 1;
  record.dispatch_id = capture.dispatch.dispatch_id;
  emu::Watcher* watchers[] = {&session};
  replay::ReplayOptions replaying = options.replay;
  replaying.before = [&](emu::Dispatch& dispatch) {
    if (session.empty()) return;
    record.id = session.begin(dispatch, facts);
    dispatch.watchers = watchers;
  };
  replaying.after = [&](const emu::Dispatch& dispatch, const emu::DispatchResult& ran) {
    if (session.empty()) return;
    const uint32_t status = ran.fault       ? WAVETAP_FAULTED
                            : ran.cancelled ? WAVETAP_ABANDONED
                                            : WAVETAP_COMPLETE;
    if (ran.fault) record.fault = emu::fault_name(ran.fault->kind);
    for (const probe::Code* code : session.take_new_code()) {
      const Home home = find_home(file, capture, *code);
      files.code(*code, home.image, home.linked,
                 (*memory)->bytes({code->described.address}, code->size_bytes));
    }
    session.end(dispatch, status);
    files.dispatch(record, dispatch, facts, status);
  };
  return replay::run_replay(capture, kernel, **memory, replaying);
}

}  // namespace wavetap::inspect
