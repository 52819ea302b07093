#include "replay/export_plan.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "amd/aql.h"
#include "codeobj/image.h"
#include "replay/guest_memory.h"
#include "replay/kernarg_size.h"
#include "replay/kernel_argument.h"
#include "replay/touched_memory.h"

namespace wavetap::replay {
namespace {

using format::CaptureTouchedPage;
using format::kCapturePageBytes;

// Pages between two used ones are taken along when they are few: fewer files.
constexpr uint64_t kMostGapPages = 16;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool contains(uint64_t address) const { return address >= begin && address < end; }
};

class Planner {
 public:
  Planner(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel,
          const CapturedMemory& memory, const std::vector<CaptureTouchedPage>& touched,
          bool has_result)
      : file_(file),
        capture_(capture),
        kernel_(kernel),
        memory_(memory),
        touched_(touched),
        has_result_(has_result) {}

  ExportPlan run() {
    find_what_hip_brings();
    add_buffers();
    add_variables();
    add_code();
    add_arguments();
    add_pointers();
    return std::move(plan_);
  }

 private:
  struct Used {  // a page of a buffer
    uint64_t address;
    const CaptureTouchedPage* bits;
    bool is_written;
  };

  void find_what_hip_brings();
  bool is_brought(uint64_t address) const;
  std::vector<Used> used_pages(const CapturedRegion& region) const;
  void add_buffers();
  void add_buffer(const CapturedRegion& region, const std::vector<Used>& pages);
  void add_output(uint32_t place, uint64_t begin, uint64_t end);
  std::vector<std::byte> expected(uint64_t begin, uint64_t end) const;
  void add_variables();
  void add_code();
  void add_arguments();
  void add_pointers();
  const CaptureTouchedPage* bits_of(uint64_t address) const;
  bool is_touched(uint64_t begin, uint64_t end, bool written) const;
  bool points_into_a_place(uint64_t word);
  std::vector<std::byte> before(uint64_t address, uint64_t size) const {
    return captured_bytes(file_, capture_, State::kBefore, address, size);
  }

  const CaptureFile& file_;
  const Capture& capture_;
  const CapturedKernel& kernel_;
  const CapturedMemory& memory_;
  const std::vector<CaptureTouchedPage>& touched_;
  const bool has_result_;
  ExportPlan plan_;
  std::vector<Range> brought_;
  Range code_;
};

// Arguments, packet, queue and code are made anew by HIP, and so is what hidden arguments point at.
void Planner::find_what_hip_brings() {
  const format::CaptureDispatch& dispatch = capture_.dispatch;
  const uint64_t kernarg = std::max<uint64_t>(kernarg_bytes_of(kernel_), 1);
  brought_.push_back({dispatch.kernarg, dispatch.kernarg + kernarg});
  brought_.push_back(
      {dispatch.packet_address, dispatch.packet_address + sizeof(amd::KernelDispatchPacket)});
  brought_.push_back({dispatch.queue_address, dispatch.queue_address + kQueueBytes});
  const Result<codeobj::ImageLayout> layout = codeobj::layout_of(*kernel_.object);
  code_ = {kernel_.load_delta, kernel_.load_delta + (layout.ok() ? layout->size_bytes : 0)};
  brought_.push_back(code_);
  for (const CapturedArgument& argument : kernel_.arguments) {
    if (!argument.arg.is_hidden() || argument.value.size() != sizeof(uint64_t)) continue;
    uint64_t pointer = 0;
    std::memcpy(&pointer, argument.value.data(), sizeof pointer);
    const CapturedRegion* region = pointer > UINT32_MAX || pointer >= kCapturePageBytes
                                       ? capture_.region_at(pointer)
                                       : nullptr;
    const std::string& kind = argument.arg.value_kind;
    const bool is_service = kind == "hidden_hostcall_buffer" || kind == "hidden_printf_buffer" ||
                            kind == "hidden_heap_v1" || kind == "hidden_multigrid_sync_arg";
    if (is_service && region != nullptr) brought_.push_back({region->begin(), region->end()});
  }
}

bool Planner::is_brought(uint64_t address) const {
  return std::any_of(brought_.begin(), brought_.end(),
                     [&](const Range& range) { return range.contains(address); });
}

std::vector<Planner::Used> Planner::used_pages(const CapturedRegion& region) const {
  std::vector<Used> pages;
  const auto first = std::lower_bound(
      touched_.begin(), touched_.end(), region.begin(),
      [](const CaptureTouchedPage& page, uint64_t at) { return page.address < at; });
  for (auto at = first; at != touched_.end() && at->address < region.end(); ++at) {
    bool is_used = false;
    bool is_written = false;
    const bool is_plain = std::none_of(brought_.begin(), brought_.end(), [&](const Range& range) {
      return range.begin < at->address + kCapturePageBytes && range.end > at->address;
    });
    for (uint64_t i = 0; i < kCapturePageBytes; ++i) {
      const bool writes = has_bit(at->written, i);
      if (!writes && !has_bit(at->read, i)) continue;
      if (!is_plain && is_brought(at->address + i)) continue;
      is_used = true;
      is_written |= writes;
    }
    if (is_used) pages.push_back({at->address, &*at, is_written});
  }
  return pages;
}

void Planner::add_buffers() {
  for (const CapturedRegion& region : capture_.regions) {
    if (!region.has_contents()) continue;
    const std::vector<Used> pages = used_pages(region);
    if (!pages.empty()) add_buffer(region, pages);
  }
}

void Planner::add_buffer(const CapturedRegion& region, const std::vector<Used>& pages) {
  const uint64_t begin = pages.front().address;
  const uint64_t end = std::min(region.end(), pages.back().address + kCapturePageBytes);
  const auto place = static_cast<uint32_t>(plan_.places.size());
  plan_.places.push_back({ExportPlace::Kind::kBuffer, "", begin, end - begin});
  for (size_t i = 0; i < pages.size();) {
    size_t last = i;
    while (last + 1 < pages.size() &&
           pages[last + 1].address - pages[last].address <= kMostGapPages * kCapturePageBytes)
      ++last;
    const uint64_t from = pages[i].address;
    const uint64_t to = std::min(end, pages[last].address + kCapturePageBytes);
    plan_.pieces.push_back({place, from - begin, before(from, to - from)});
    i = last + 1;
  }
  for (size_t i = 0; i < pages.size();) {
    size_t last = i;
    while (last + 1 < pages.size() && pages[last].is_written && pages[last + 1].is_written &&
           pages[last + 1].address == pages[last].address + kCapturePageBytes)
      ++last;
    if (pages[i].is_written)
      add_output(place, pages[i].address, std::min(end, pages[last].address + kCapturePageBytes));
    i = last + 1;
  }
}

// As before, and where the kernel wrote, as after.
std::vector<std::byte> Planner::expected(uint64_t begin, uint64_t end) const {
  std::vector<std::byte> bytes = before(begin, end - begin);
  std::vector<std::byte> after(bytes.size());
  if (capture_.has_after && capture_.fault.empty()) {
    after = captured_bytes(file_, capture_, State::kAfter, begin, end - begin);
  } else {
    const std::span<const std::byte> now = memory_.bytes({begin}, end - begin);
    if (now.size() == after.size()) std::copy(now.begin(), now.end(), after.begin());
  }
  for (uint64_t at = begin; at < end; ++at) {
    const CaptureTouchedPage* bits = bits_of(at);
    if (bits != nullptr && has_bit(bits->written, at % kCapturePageBytes))
      bytes[at - begin] = after[at - begin];
  }
  return bytes;
}

// Divided where arguments point, so that elements are numbered as the kernel numbers them.
void Planner::add_output(uint32_t place, uint64_t begin, uint64_t end) {
  if (!has_result_) return;
  while (begin < end) {
    uint64_t upto = end;
    ExportOutput output;
    output.name = "memory";
    output.element = "u32";
    for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
      const CapturedArgument& argument = kernel_.arguments[i];
      if (argument.region == nullptr || argument.arg.is_hidden()) continue;
      if (argument.pointer > begin) {
        upto = std::min(upto, argument.pointer);
      } else if (begin - argument.pointer < argument.extent_bytes) {
        upto = std::min(upto, argument.pointer + argument.extent_bytes);
        output.name = "argument " + std::to_string(i) +
                      (argument.type.empty() ? "" : " (" + argument.type + ")");
        if (!argument.element.empty()) output.element = argument.element;
        output.first_index = (begin - argument.pointer) / element_bytes(output.element);
      }
    }
    if (is_touched(begin, upto, /*written=*/true)) {
      output.place = place;
      output.offset = begin - plan_.places[place].address;
      output.bytes = expected(begin, upto);
      plan_.outputs.push_back(std::move(output));
    }
    begin = upto;
  }
}

// Those that are no longer what loading the code object makes of them, or that the kernel changes.
void Planner::add_variables() {
  std::vector<std::byte> fresh(code_.end - code_.begin);
  if (!codeobj::load_image(*kernel_.object, fresh, {kernel_.load_delta}).ok()) return;
  std::set<std::string> seen;
  for (const codeobj::CodeSymbol& symbol : kernel_.object->symbols()) {
    if (symbol.is_function || symbol.size_bytes == 0 || symbol.name.ends_with(".kd")) continue;
    if (symbol.address > fresh.size() || symbol.size_bytes > fresh.size() - symbol.address)
      continue;
    if (!seen.insert(std::string(symbol.name)).second) continue;
    plan_.anchors.push_back({std::string(symbol.name), symbol.address});
    const uint64_t begin = kernel_.load_delta + symbol.address;
    const uint64_t end = begin + symbol.size_bytes;
    const bool is_written = is_touched(begin, end, true);
    if (!is_written && !is_touched(begin, end, false)) continue;
    std::vector<std::byte> bytes = before(begin, symbol.size_bytes);
    const bool is_fresh = std::equal(bytes.begin(), bytes.end(),
                                     fresh.begin() + static_cast<ptrdiff_t>(symbol.address));
    if (is_fresh && !is_written) continue;
    const auto place = static_cast<uint32_t>(plan_.places.size());
    plan_.places.push_back(
        {ExportPlace::Kind::kVariable, std::string(symbol.name), begin, symbol.size_bytes});
    plan_.pieces.push_back({place, 0, std::move(bytes)});
    if (is_written && has_result_) {
      plan_.outputs.push_back({place, 0, expected(begin, end),
                               "variable " + std::string(symbol.name),
                               symbol.size_bytes % 4 == 0 ? "u32" : "u8", 0});
    }
  }
}

void Planner::add_code() {
  plan_.places.push_back({ExportPlace::Kind::kCode, "code", code_.begin, code_.end - code_.begin});
}

void Planner::add_arguments() {
  uint64_t size = 0;
  for (const CapturedArgument& argument : kernel_.arguments)
    if (!argument.arg.is_hidden())
      size = std::max(size, argument.arg.offset + argument.arg.size_bytes);
  plan_.arguments = before(capture_.dispatch.kernarg, size);
  for (const CapturedArgument& argument : kernel_.arguments) {
    if (argument.arg.is_hidden()) continue;
    const bool is_pointer = argument.arg.value_kind == "global_buffer";
    for (uint64_t at = (argument.arg.offset + 7) / 8 * 8;
         at + 8 <= argument.arg.offset + argument.arg.size_bytes; at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, &plan_.arguments[at], sizeof word);
      if (!points_into_a_place(word)) continue;
      plan_.pointers.push_back({kInArguments, 0, at});
      plan_.guessed += is_pointer ? 0 : 1;
    }
  }
}

// Words that the kernel reads whole.
void Planner::add_pointers() {
  std::vector<ExportPointer> found;
  for (const ExportPiece& piece : plan_.pieces) {
    const uint64_t base = plan_.places[piece.place].address + piece.offset;
    for (uint64_t at = (8 - base % 8) % 8; at + 8 <= piece.bytes.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, &piece.bytes[at], sizeof word);
      if (word == 0) continue;
      const CaptureTouchedPage* bits = bits_of(base + at);
      if (bits == nullptr) continue;
      const uint64_t byte = (base + at) % kCapturePageBytes;
      if ((bits->read[byte / 64] >> (byte % 64) & 0xff) != 0xff) continue;
      if (!points_into_a_place(word)) continue;
      found.push_back({piece.place, 0, piece.offset + at});
      ++plan_.guessed;
    }
  }
  found.insert(found.end(), plan_.pointers.begin(), plan_.pointers.end());
  std::sort(found.begin(), found.end(), [](const ExportPointer& a, const ExportPointer& b) {
    return std::pair(a.place, a.offset) < std::pair(b.place, b.offset);
  });
  plan_.pointers = std::move(found);
}

bool Planner::points_into_a_place(uint64_t word) {
  for (const ExportPlace& place : plan_.places) {
    if (word - place.address >= place.size_bytes) continue;
    if (place.kind == ExportPlace::Kind::kCode) ++plan_.code_pointers;
    return true;
  }
  return false;
}

const CaptureTouchedPage* Planner::bits_of(uint64_t address) const {
  const auto found = std::lower_bound(
      touched_.begin(), touched_.end(), address / kCapturePageBytes * kCapturePageBytes,
      [](const CaptureTouchedPage& page, uint64_t at) { return page.address < at; });
  return found == touched_.end() || found->address > address ? nullptr : &*found;
}

bool Planner::is_touched(uint64_t begin, uint64_t end, bool written) const {
  for (uint64_t at = begin; at < end;) {
    const CaptureTouchedPage* bits = bits_of(at);
    const uint64_t page_end = (at / kCapturePageBytes + 1) * kCapturePageBytes;
    for (; at < std::min(end, page_end); ++at)
      if (bits != nullptr && has_bit(written ? bits->written : bits->read, at % kCapturePageBytes))
        return true;
  }
  return false;
}

}  // namespace

ExportPlan plan_export(const CaptureFile& file, const Capture& capture,
                       const CapturedKernel& kernel, const CapturedMemory& memory,
                       const std::vector<CaptureTouchedPage>& touched, bool has_result) {
  return Planner(file, capture, kernel, memory, touched, has_result).run();
}

}  // namespace wavetap::replay
