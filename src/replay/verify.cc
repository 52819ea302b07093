#include "replay/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "replay/half.h"
#include "replay/kernel_argument.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

using format::kCapturePageBytes;

// The distance of two numbers in representable steps.
template <class Bits>
double ulps_between(Bits a, Bits b) {
  const auto order = [](Bits bits) {
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    return (bits & kSign) != 0 ? -static_cast<double>(bits & ~kSign) : static_cast<double>(bits);
  };
  return std::fabs(order(a) - order(b));
}

double value_of(float number) { return number; }
double value_of(double number) { return number; }
double value_of(Half number) { return number.to_float(); }
double value_of(BrainHalf number) { return number.to_float(); }

template <class Bits>
Bits bits_at(const std::byte* element) {
  Bits bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  return bits;
}

template <class Float, class Bits>
bool is_near(const std::byte* a, const std::byte* b, const Tolerance& tolerance) {
  const auto a_bits = bits_at<Bits>(a), b_bits = bits_at<Bits>(b);
  const double x = value_of(std::bit_cast<Float>(a_bits));
  const double y = value_of(std::bit_cast<Float>(b_bits));
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return true;
  if (std::isinf(x) || std::isinf(y)) return false;
  const double difference = std::fabs(x - y);
  switch (tolerance.kind) {
    case Tolerance::Kind::kBits: return false;
    case Tolerance::Kind::kAbsolute: return difference <= tolerance.limit;
    case Tolerance::Kind::kRelative:
      return difference <= tolerance.limit * std::max(std::fabs(x), std::fabs(y));
    case Tolerance::Kind::kUlp: return ulps_between(a_bits, b_bits) <= tolerance.limit;
  }
  return false;
}

template <class Float, class Bits>
ElementError element_error(const std::byte* a, const std::byte* b) {
  const auto a_bits = bits_at<Bits>(a), b_bits = bits_at<Bits>(b);
  const double x = value_of(std::bit_cast<Float>(a_bits));
  const double y = value_of(std::bit_cast<Float>(b_bits));
  if (x == y || (std::isnan(x) && std::isnan(y))) return {};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(x) || !std::isfinite(y)) return {kInfinity, kInfinity, kInfinity};
  const double difference = std::fabs(x - y);
  return {difference, difference / std::max(std::fabs(x), std::fabs(y)),
          ulps_between(a_bits, b_bits)};
}

// What an address belongs to: an argument's memory, or what is left of its region.
struct Owner {
  size_t argument = SIZE_MAX;
  uint64_t base = 0;
  std::string element = "u8";
  uint64_t size = 1;
};

const Tolerance& tolerance_for(const Tolerance& tolerance, size_t argument) {
  for (const Tolerance& one : tolerance.arguments)
    if (one.argument == argument) return one;
  return tolerance;
}

Owner owner_of(const CapturedKernel& kernel, const CapturedRegion& region, uint64_t address,
               const Tolerance& tolerance) {
  Owner owner;
  owner.base = region.begin();
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel.arguments[i];
    if (argument.region != &region || address < argument.pointer ||
        address - argument.pointer >= argument.extent_bytes || argument.arg.is_hidden())
      continue;
    owner.argument = i;
    owner.base = argument.pointer;
    const Tolerance& given = tolerance_for(tolerance, i);
    const bool is_given =
        !given.element.empty() && (given.argument != SIZE_MAX || argument.element.empty());
    if (is_given) owner.element = given.element;
    else if (!argument.element.empty()) owner.element = argument.element;
    break;
  }
  owner.size = std::max<uint64_t>(element_bytes(owner.element), 1);
  return owner;
}

class Comparison {
 public:
  Comparison(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel,
             const CapturedMemory& memory, const ElementJudge& judge, const Tolerance& types,
             const std::vector<HostRange>& heap)
      : file_(file),
        capture_(capture),
        kernel_(kernel),
        memory_(memory),
        judge_(judge),
        types_(types),
        heap_(find_heap(file, capture, kernel)) {
    heap_.blocks.insert(heap_.blocks.end(), heap.begin(), heap.end());
  }

  Verdict run() {
    for (const CapturedRegion& region : capture_.regions) {
      if (!region.has_contents() || (region.record.rights & format::kCaptureWritable) == 0)
        continue;
      strict_ = region.record.kind == format::CaptureMemoryKind::kVram &&
                !region.contains(capture_.dispatch.kernarg);
      done_ = 0;
      const std::vector<bool> written = memory_.written_pages(region);
      for (uint32_t page = 0; page < region.page_count(); ++page)
        if (written[page] || is_changed(region, page)) compare_page(region, page);
    }
    return std::move(verdict_);
  }

 private:
  static bool is_changed(const CapturedRegion& region, uint32_t page) {
    const uint32_t before = page_id(region.before, page);
    return page_id(region.changes, page, before) != before;
  }

  void compare_page(const CapturedRegion& region, uint32_t page) {
    const uint64_t offset = uint64_t{page} * kCapturePageBytes;
    const uint64_t size = std::min<uint64_t>(kCapturePageBytes, region.record.size_bytes - offset);
    const std::span<const std::byte> now = memory_.bytes({region.begin() + offset}, size);
    const uint32_t before_id = page_id(region.before, page);
    const uint32_t after_id = page_id(region.changes, page, before_id);
    if (now.empty()) return;
    std::byte before[kCapturePageBytes];
    std::memcpy(before, file_.page(before_id), sizeof before);
    if (before_id == after_id && std::memcmp(before, now.data(), size) == 0) return;
    std::byte after[kCapturePageBytes];
    std::memcpy(after, file_.page(after_id), sizeof after);
    for (uint64_t i = 0; i < size; ++i) {
      const bool wrote = now[i] != before[i];
      const bool changed = after[i] != before[i];
      verdict_.written_bytes += wrote ? 1 : 0;
      verdict_.captured_bytes += changed ? 1 : 0;
      if (now[i] == after[i]) continue;
      if (!wrote && !strict_) ++verdict_.host_bytes;
      else if (!is_of_heap(region, offset + i, after + i / 8 * 8))
        note(region, region.begin() + offset + i);
    }
  }

  // A byte that differs because the heap does. `expected` is its word in the state after.
  bool is_of_heap(const CapturedRegion& region, uint64_t offset, const std::byte* expected) {
    if (heap_.own.empty() && heap_.blocks.empty()) return false;
    const uint64_t address = region.begin() + offset;
    if (address < done_) return true;
    if (heap_.is_own(address)) {
      ++verdict_.heap_bytes;
      return true;
    }
    constexpr uint64_t kPointerBytes = sizeof(uint64_t);
    const uint64_t at = offset / kPointerBytes * kPointerBytes;
    const std::span<const std::byte> now = memory_.bytes({region.begin() + at}, kPointerBytes);
    if (now.empty()) return false;
    uint64_t then = 0;
    uint64_t got = 0;
    std::memcpy(&then, expected, kPointerBytes);
    std::memcpy(&got, now.data(), kPointerBytes);
    if (!heap_.is_block(then) || !heap_.is_block(got)) return false;
    ++verdict_.heap_pointers;
    done_ = region.begin() + at + kPointerBytes;
    return true;
  }

  // A byte that differs: the element it belongs to counts once.
  void note(const CapturedRegion& region, uint64_t address) {
    if (address < done_) return;
    const Owner owner = owner_of(kernel_, region, address, types_);
    const uint64_t index = (address - owner.base) / owner.size;
    const uint64_t begin = owner.base + index * owner.size;
    done_ = begin + owner.size;
    const std::span<const std::byte> got = memory_.bytes({begin}, owner.size);
    const std::vector<std::byte> expected =
        captured_bytes(file_, capture_, State::kAfter, begin, owner.size);
    if (got.empty() ||
        judge_({owner.argument, owner.element, begin, index, expected.data(), got.data()}))
      return;
    ++verdict_.differing;
    auto known =
        std::find_if(verdict_.buffers.begin(), verdict_.buffers.end(),
                     [&](const BufferDifference& buffer) { return buffer.base == owner.base; });
    if (known == verdict_.buffers.end()) {
      verdict_.buffers.push_back({owner.argument,
                                  owner.element,
                                  owner.base,
                                  0,
                                  index,
                                  expected,
                                  {got.begin(), got.end()}});
      known = std::prev(verdict_.buffers.end());
    }
    ++known->differing;
  }

  const CaptureFile& file_;
  const Capture& capture_;
  const CapturedKernel& kernel_;
  const CapturedMemory& memory_;
  const ElementJudge& judge_;
  const Tolerance& types_;  // what kinds of numbers there are, where that was said
  HeapMemory heap_;
  Verdict verdict_;
  bool strict_ = false;
  uint64_t done_ = 0;  // addresses below belong to elements already looked at
};

// "rel=1e-5": one of them, without what it is for. Nothing when it makes no sense.
std::optional<Tolerance> parse_limit(const std::string& text) {
  Tolerance tolerance;
  if (text == "bits") return tolerance;
  std::string number = text;
  tolerance.kind = Tolerance::Kind::kRelative;
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  bool known = equals == std::string::npos;
  if (!known) {
    number = text.substr(equals + 1);
    known = name == "abs" || name == "rel" || name == "ulp";
    if (name == "abs") tolerance.kind = Tolerance::Kind::kAbsolute;
    if (name == "ulp") tolerance.kind = Tolerance::Kind::kUlp;
  }
  char* end = nullptr;
  tolerance.limit = std::strtod(number.c_str(), &end);
  const bool is_limit = *end == '\0' && tolerance.limit >= 0 && std::isfinite(tolerance.limit);
  if (!known || number.empty() || !is_limit) return std::nullopt;
  return tolerance;
}

// "arg3:f16:rel=1e-3".
std::optional<Tolerance> parse_term(const std::string& term) {
  std::vector<std::string> parts = util::split(term, ':');
  const std::optional<Tolerance> limit = parse_limit(parts.back());
  parts.pop_back();
  if (!limit || parts.size() > 2) return std::nullopt;
  Tolerance tolerance = *limit;
  if (!parts.empty() && parts[0].starts_with("arg")) {
    const std::optional<uint64_t> number = util::parse_unsigned(parts[0].substr(3));
    if (!number || *number >= SIZE_MAX) return std::nullopt;
    tolerance.argument = static_cast<size_t>(*number);
    parts.erase(parts.begin());
  }
  if (parts.empty()) return tolerance;
  if (parts.size() > 1 || element_bytes(parts[0]) == 0) return std::nullopt;
  tolerance.element = parts[0];
  return tolerance;
}

}  // namespace

Result<Tolerance> parse_tolerance(const std::string& text) {
  const std::optional<Tolerance> one = parse_limit(text.empty() ? "bits" : text);
  if (one) return *one;
  return errorf("--verify=%s: not understood; write bits, abs=X, rel=X, ulp=N or a relative limit",
                text.c_str());
}

Result<Tolerance> parse_tolerances(const std::string& text) {
  Tolerance all;
  if (text.empty()) return all;
  for (const std::string& term : util::split(text, ',')) {
    std::optional<Tolerance> one = parse_term(term);
    if (!one) {
      return errorf(
          "--verify=%s: %s is not understood; write bits, abs=X, rel=X, ulp=N or a relative limit, "
          "with f16: before it where that is what the numbers are, and arg3: for one argument only",
          text.c_str(), term.empty() ? "an empty limit" : term.c_str());
    }
    if (one->argument != SIZE_MAX) {
      all.arguments.push_back(std::move(*one));
    } else {
      one->arguments = std::move(all.arguments);
      all = std::move(*one);
    }
  }
  return all;
}

std::string to_text(const Tolerance& tolerance) {
  constexpr const char* kNames[] = {"bits", "abs=", "rel=", "ulp="};
  std::string text = kNames[static_cast<size_t>(tolerance.kind)];
  if (tolerance.kind != Tolerance::Kind::kBits) text += fmt::format("{:g}", tolerance.limit);
  return text;
}

std::optional<ElementError> error_between(const std::string& element, const std::byte* a,
                                          const std::byte* b) {
  if (element == "f16") return element_error<Half, uint16_t>(a, b);
  if (element == "bf16") return element_error<BrainHalf, uint16_t>(a, b);
  if (element == "f32") return element_error<float, uint32_t>(a, b);
  if (element == "f64") return element_error<double, uint64_t>(a, b);
  return std::nullopt;
}

bool is_equal(const std::string& element, const std::byte* a, const std::byte* b,
              const Tolerance& tolerance) {
  if (tolerance.kind != Tolerance::Kind::kBits) {
    if (element == "f16") return is_near<Half, uint16_t>(a, b, tolerance);
    if (element == "bf16") return is_near<BrainHalf, uint16_t>(a, b, tolerance);
    if (element == "f32") return is_near<float, uint32_t>(a, b, tolerance);
    if (element == "f64") return is_near<double, uint64_t>(a, b, tolerance);
  }
  return std::memcmp(a, b, std::max<size_t>(element_bytes(element), 1)) == 0;
}

ElementJudge judge_by(const Tolerance& tolerance) {
  return [tolerance](const ElementPair& pair) {
    return is_equal(pair.element, pair.expected, pair.got, tolerance_for(tolerance, pair.argument));
  };
}

Verdict verify(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel,
               const CapturedMemory& memory, const ElementJudge& judge,
               const std::vector<HostRange>& heap) {
  return Comparison(file, capture, kernel, memory, judge, Tolerance(), heap).run();
}

Verdict verify(const CaptureFile& file, const Capture& capture, const CapturedKernel& kernel,
               const CapturedMemory& memory, const Tolerance& tolerance,
               const std::vector<HostRange>& heap) {
  return Comparison(file, capture, kernel, memory, judge_by(tolerance), tolerance, heap).run();
}

}  // namespace wavetap::replay
