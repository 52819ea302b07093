#include "proof/cross_check.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "proof/describe.h"
#include "proof/moved_memory.h"
#include "proof/other_queue.h"
#include "proof/perturbation.h"
#include "proof/precision.h"
#include "proof/shaped_capture.h"
#include "replay/describe_fault.h"
#include "replay/kernel_argument.h"
#include "replay/replay_run.h"
#include "replay/touched_memory.h"
#include "util/json.h"
#include "util/json_library.h"

namespace wavetap::proof {
namespace {

using replay::Capture;
using replay::CapturedArgument;
using replay::CapturedKernel;
using replay::CapturedMemory;
using replay::CapturedRegion;

constexpr uint64_t kPage = format::kCapturePageBytes;

// What a place held after a run, as far as it may differ from what was captured: other pages stay zeros that cost
// nothing. A captured dispatch may have gigabytes of which it writes a few pages.
struct Image {
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> bytes;
  uint64_t size_bytes = 0;
  std::vector<bool> written;  // by page: may be something else than was captured
  std::vector<bool> filled;   // by page: is in `bytes`

  bool begins_written(uint64_t at) const { return written[at / kPage]; }
};

// With the pages beside them: an element may lie across two.
std::vector<bool> with_neighbours(const std::vector<bool>& pages) {
  std::vector<bool> wide = pages;
  for (size_t i = 0; i < pages.size(); ++i) {
    if (!pages[i]) continue;
    if (i > 0) wide[i - 1] = true;
    if (i + 1 < pages.size()) wide[i + 1] = true;
  }
  return wide;
}

// Orders of workgroups and waves that the candidate is run in, on recorded inputs.
constexpr uint64_t kOrders = 3;

class Checker {
 public:
  Checker(const TrialOptions& options, const replay::CaptureFile& file, const Capture& capture,
          CapturedMemory& memory)
      : options_(options),
        file_(file),
        capture_(capture),
        kernel_(replay::find_captured_kernel(file, capture)),
        memory_(memory),
        moved_(capture_, kernel_, memory),
        other_queue_(capture_, kernel_, memory) {}

  CrossCheck run(uint64_t seed) {
    replay::TouchedMemory touched;
    replay::ReplayOptions replay;
    replay.threads = options_.threads;
    replay.watchdog_instructions = options_.watchdog_instructions;
    const replay::ReplayResult ran =
        replay::find_touched(capture_, kernel_, memory_, replay, touched);
    if (ran.refusal != replay::Refusal::kNone || ran.fault) {
      check_.outcome = Outcome::kCrash;
      check_.reason = "the original itself does not run: " + ran.why;
      return check_;
    }
    touched_ = touched.pages();
    for (uint64_t order = 1; order <= kOrders && check_.outcome == Outcome::kGood; ++order)
      compare({Change::kNone, 0, 0, 0}, seed + order);
    for (const Perturbation& perturbation : perturbations_of(kernel_, seed)) {
      if (check_.outcome != Outcome::kGood) break;
      compare(perturbation, perturbation.seed);
    }
    return check_;
  }

 private:
  // The state that a run begins with; false where it cannot be made.
  bool prepare(const Perturbation& perturbation) {
    memory_.restore();
    perturb(perturbation, capture_, kernel_, touched_, memory_);
    places_.clear();
    for (const CapturedRegion& region : capture_.regions)
      places_.push_back({&region, {region.begin()}});
    if (perturbation.change == Change::kOtherQueue) return other_queue_.prepare(perturbation.seed);
    if (perturbation.change == Change::kLarger) return !is_cooperative();
    if (perturbation.change != Change::kMoved) return true;
    if (!moved_.move(perturbation.seed)) return false;
    places_.insert(places_.end(), moved_.blocks().begin(), moved_.blocks().end());
    return true;
  }

  // All of its workgroups run at once: how many there can be is the GPU's affair.
  bool is_cooperative() const {
    return (capture_.dispatch.flags & format::kCaptureCooperative) != 0;
  }

  // One more along the axis that has most.
  std::array<uint32_t, 3> larger() const {
    std::array<uint32_t, 3> groups{};
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint32_t size = std::max<uint32_t>(capture_.dispatch.workgroup_size[axis], 1);
      groups[axis] = (std::max(capture_.dispatch.grid_size[axis], 1u) + size - 1) / size;
    }
    ++*std::max_element(groups.begin(), groups.end());
    return groups;
  }

  replay::ReplayResult run_once(const Perturbation& perturbation, const std::string& code,
                                uint64_t seed, emu::Watcher* watcher) {
    emu::Watcher* const watchers[] = {watcher};
    replay::ReplayOptions replay;
    replay.count = true;
    replay.initial_fill = perturbation.initial_fill();
    if (perturbation.change == Change::kLarger) replay.workgroups = larger();
    if (perturbation.change == Change::kOtherQueue)
      replay.before = [this](emu::Dispatch& dispatch) { other_queue_.change(dispatch); };
    replay.swap = code;
    replay.seed = seed;
    replay.threads = options_.threads;
    replay.watchdog_instructions = options_.watchdog_instructions;
    if (watcher != nullptr) replay.watchers = watchers;
    return replay::run_replay(capture_, kernel_, memory_, replay);
  }

  // What all memory that can be written holds.
  std::vector<Image> memory_now() const {
    std::vector<Image> made;
    for (const MovedMemory::Block& place : places_) {
      const CapturedRegion& region = *place.region;
      Image& image = made.emplace_back();
      if (!region.has_contents() || (region.record.rights & format::kCaptureWritable) == 0)
        continue;
      image.bytes.reset(static_cast<std::byte*>(std::calloc(region.record.size_bytes, 1)));
      if (image.bytes == nullptr) throw std::bad_alloc();
      image.size_bytes = region.record.size_bytes;
      const bool is_copy = place.base.value != region.begin();
      image.written =
          is_copy ? std::vector<bool>(region.page_count(), true) : memory_.written_pages(region);
      image.filled = with_neighbours(image.written);
      for (size_t page = 0; page < image.filled.size(); ++page) {
        if (!image.filled[page]) continue;
        const uint64_t offset = page * kPage;
        const std::span<const std::byte> now = std::as_const(memory_).bytes(
            place.base + offset, std::min(kPage, image.size_bytes - offset));
        if (!now.empty()) std::memcpy(image.bytes.get() + offset, now.data(), now.size());
      }
    }
    return made;
  }

  // Pages that were as captured when `image` was taken, and that `later` has.
  void fill_captured(const CapturedRegion& region, Image& image, const Image& later) const {
    for (size_t page = 0; page < image.filled.size(); ++page) {
      if (image.filled[page] || !later.filled[page]) continue;
      const uint64_t offset = page * kPage;
      std::memcpy(image.bytes.get() + offset,
                  file_.page(replay::page_id(region.before, static_cast<uint32_t>(page))),
                  std::min(kPage, image.size_bytes - offset));
      image.filled[page] = true;
    }
  }

  void compare(const Perturbation& perturbation, uint64_t seed) {
    Check& check = check_.checks.emplace_back();
    check.name = perturbation.name();
    if (perturbation.change == Change::kNone) check.name += ", another order";
    replay::TouchedMemory touched;
    const auto leave_out = [&](const char* why) { check.result = std::string("left out: ") + why; };
    if (!prepare(perturbation)) return leave_out("nothing that can be moved");
    const replay::ReplayResult original = run_once(perturbation, "", 0, &touched);
    if (original.fault) return leave_out("the original faults");
    if (perturbation.change == Change::kSmaller &&
        original.counters.bytes_global_store + original.counters.bytes_global_atomic >
            replay::written_bytes(touched.pages()))
      return leave_out("the original writes a place twice");
    std::vector<Image> wanted = memory_now();
    if (perturbation.change == Change::kLarger && !is_as_recorded(wanted))
      return leave_out("the original works on more with it");
    prepare(perturbation);
    const replay::ReplayResult candidate = run_once(perturbation, options_.code, seed, nullptr);
    if (candidate.refusal != replay::Refusal::kNone)
      return fail(check, Outcome::kRefused, candidate.why);
    if (candidate.fault)
      return fail(check, Outcome::kFault,
                  replay::describe_fault(capture_, kernel_, memory_, *candidate.fault));
    PrecisionJudge precision(options_.precision(), kernel_);
    const std::string difference = first_difference(wanted, precision.judge());
    if (!difference.empty()) return fail(check, Outcome::kWrong, difference);
    const Precision found = precision.find(capture_, memory_, [&] { prepare(perturbation); });
    if (found.outcome != Outcome::kGood) return fail(check, found.outcome, found.reason);
    check.result = found.note.empty() ? "equal" : found.note;
  }

  // Whether the original leaves that with the workgroups that it was recorded with.
  bool is_as_recorded(std::vector<Image>& image) {
    memory_.restore();
    const replay::ReplayResult ran = run_once({}, "", 0, nullptr);
    return !ran.fault && first_difference(image, replay::judge_by({})).empty();
  }

  void fail(Check& check, Outcome outcome, const std::string& why) {
    check.result = why;
    check_.outcome = outcome;
    check_.reason = check.name + ": " + why;
  }

  std::string first_difference(std::vector<Image>& wanted,
                               const replay::ElementJudge& judge) const {
    const std::vector<Image> now = memory_now();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const CapturedRegion& region = *places_[i].region;
      fill_captured(region, wanted[i], now[i]);
      const std::byte* const want = wanted[i].bytes.get();
      const std::byte* const got = now[i].bytes.get();
      const uint64_t all = std::min(wanted[i].size_bytes, now[i].size_bytes);
      for (uint64_t at = 0; at < all; ++at) {
        const uint64_t in_page = std::min(kPage - at % kPage, all - at);
        if (!now[i].begins_written(at) || std::memcmp(want + at, got + at, in_page) == 0) {
          at += in_page - 1;
          continue;
        }
        if (want[at] == got[at]) continue;
        replay::BufferDifference difference{SIZE_MAX, "u8", region.begin(), 1, at, {}, {}};
        uint64_t size = 1;
        uint64_t begin = at;
        for (size_t number = 0; number < kernel_.arguments.size(); ++number) {
          const CapturedArgument& argument = kernel_.arguments[number];
          const uint64_t address = region.begin() + at;
          if (argument.region != &region || argument.arg.is_hidden() ||
              address < argument.pointer || address - argument.pointer >= argument.extent_bytes)
            continue;
          size = std::max<uint64_t>(replay::element_bytes(argument.element), 1);
          difference.argument = number;
          difference.base = argument.pointer;
          if (!argument.element.empty()) difference.element = argument.element;
          difference.first_index = (address - argument.pointer) / size;
          begin = argument.pointer - region.begin() + difference.first_index * size;
        }
        if (begin + size > all) continue;
        if (judge({difference.argument, difference.element, places_[i].base.value + begin,
                   difference.first_index, want + begin, got + begin})) {
          at = begin + size - 1;
          continue;
        }
        difference.expected.assign(want + begin, want + begin + size);
        difference.got.assign(got + begin, got + begin + size);
        return describe_difference(kernel_, difference);
      }
    }
    return "";
  }

  const TrialOptions& options_;
  const replay::CaptureFile& file_;
  const Capture& capture_;
  const CapturedKernel kernel_;
  CapturedMemory& memory_;
  MovedMemory moved_;
  OtherQueue other_queue_;
  std::vector<MovedMemory::Block> places_;  // memory that is compared
  std::vector<format::CaptureTouchedPage> touched_;
  CrossCheck check_;
};

}  // namespace

CrossCheck cross_check(const TrialOptions& options, uint64_t seed) {
  const auto crash = [](std::string why) {
    return CrossCheck{Outcome::kCrash, std::move(why), {}};
  };
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(options.file);
  if (!file.ok()) return crash(file.error().message);
  for (const Capture& capture : (*file)->captures()) {
    if (capture.dispatch.capture != options.capture || !capture.has_before) continue;
    const Result<std::unique_ptr<CapturedMemory>> memory = CapturedMemory::load(**file, capture);
    if (!memory.ok()) return crash(memory.error().message);
    return Checker(options, **file, capture, **memory).run(seed);
  }
  return crash(options.file + ": has no whole capture of that number");
}

std::string to_text(const CrossCheck& check) {
  nlohmann::ordered_json json = {{"outcome", name_of(check.outcome)},
                                 {"reason", check.reason},
                                 {"checks", nlohmann::ordered_json::array()}};
  for (const Check& one : check.checks) json["checks"].push_back({one.name, one.result});
  return util::json_line(json);
}

Result<CrossCheck> parse_cross_check(const std::string& text) {
  const nlohmann::ordered_json json = util::read_json(text);
  try {
    CrossCheck check;
    const auto outcome = outcome_named(json.at("outcome").get<std::string>());
    if (!outcome) return errorf("cross-check: not understood");
    check.outcome = *outcome;
    check.reason = json.at("reason").get<std::string>();
    for (const nlohmann::ordered_json& one : json.at("checks"))
      check.checks.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>()});
    return check;
  } catch (const nlohmann::ordered_json::exception&) {
    return errorf("cross-check: not understood");
  }
}

}  // namespace wavetap::proof
