#include "proof/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "proof/shadow_watch.h"
#include "replay/half.h"
#include "replay/kernel_argument.h"
#include "replay/replay_run.h"

namespace wavetap::proof {
namespace {

using replay::CapturedMemory;

// Elements of which notes are kept; others are judged by the tolerance alone.
constexpr size_t kMostElements = 1 << 22;

// Elements that are numbers; null for others. Of bf16 there is no reference: no operation of those GPUs
// makes one.
const char* type_of(const std::string& element) {
  for (const char* type : {"f16", "bf16", "f32", "f64"})
    if (element == type) return type;
  return nullptr;
}
bool is_type(const char* type, const char* which) { return std::strcmp(type, which) == 0; }

template <class T>
T value_at(const std::byte* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double number_at(const std::byte* bytes, const char* type) {
  if (is_type(type, "f64")) return value_at<double>(bytes);
  if (is_type(type, "f32")) return static_cast<double>(value_at<float>(bytes));
  if (is_type(type, "f16")) return static_cast<double>(value_at<replay::Half>(bytes).to_float());
  return static_cast<double>(value_at<replay::BrainHalf>(bytes).to_float());
}

CellKind kind_of(const char* type) {
  if (is_type(type, "f64")) return CellKind::kF64;
  return is_type(type, "f16") ? CellKind::kF16 : CellKind::kF32;
}

Cell reference_at(const ShadowWatch& watch, const CapturedMemory& memory, uint64_t address,
                  const char* type) {
  const size_t size = replay::element_bytes(type);
  const std::span<const std::byte> bytes = memory.bytes({address}, size);
  if (bytes.empty()) return {};
  if (size == 2) {
    const Cell cell = watch.half_at(address, value_at<uint16_t>(bytes.data()));
    return is_type(type, "f16") || cell.is_lost() ? cell : Cell{};
  }
  return watch.at(address, value_at<uint32_t>(bytes.data())).whole();
}

// "v_add_f16 (12 times), v_rcp_f16 (3 times)"; of many, the most frequent ones.
std::string counts_text(const ShadowWatch::Counts& counts) {
  constexpr size_t kMostNames = 4;
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [name, count] : counts) order.emplace_back(count, name);
  std::sort(order.rbegin(), order.rend());
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), kMostNames); ++i)
    text += fmt::format("{}{} ({} times)", i == 0 ? "" : ", ", order[i].second, order[i].first);
  if (order.size() > kMostNames) text += fmt::format(" and {} more", order.size() - kMostNames);
  return text;
}

// Errors of both, as far as elements have a reference.
struct Errors {
  double original = 0, candidate = 0;  // sums of squares
  uint64_t judged = 0, without = 0, overflowed = 0;

  std::string note(const std::string& tolerance, const ShadowWatch& watch, bool has_run) const {
    std::string text = "within " + tolerance;
    if (judged > 0 && original > 0)
      text += fmt::format("; error against fp64 {:.3g} of the original's ({} elements)",
                          std::sqrt(candidate / original), judged);
    else if (judged > 0) text += fmt::format("; {} elements held against fp64", judged);
    if (overflowed > 0)
      text += fmt::format("; {} left out, where the original overflows", overflowed);
    if (without > 0) text += fmt::format("; {} without a reference", without);
    if (!has_run) text += "; the reference did not run to its end";
    if (!watch.not_followed().empty())
      text += "; not followed: " + counts_text(watch.not_followed());
    if (!watch.taken_apart().empty())
      text += "; the original's bits taken as they are: " + counts_text(watch.taken_apart());
    return text;
  }
};

}  // namespace

replay::ElementJudge PrecisionJudge::judge() {
  if (!options_.has_reference || options_.tolerance.kind == replay::Tolerance::Kind::kBits)
    return replay::judge_by(options_.tolerance);
  return [this](const replay::ElementPair& pair) {
    const bool is_near =
        replay::is_equal(pair.element, pair.expected, pair.got, options_.tolerance);
    const char* const type = type_of(pair.element);
    if (type == nullptr || elements_.size() >= kMostElements) return is_near;
    const double expected = number_at(pair.expected, type);
    const double got = number_at(pair.got, type);
    if (is_near && (!std::isfinite(expected) || expected == got)) return true;
    elements_.push_back({pair.argument, pair.address, pair.index, type, is_near, expected, got});
    return true;
  };
}

bool PrecisionJudge::is_near(double reference, const Element& element) const {
  const auto bytes = [](const auto& value) { return reinterpret_cast<const std::byte*>(&value); };
  const auto a = static_cast<float>(reference), b = static_cast<float>(element.got);
  if (is_type(element.type, "f64"))
    return replay::is_equal("f64", bytes(reference), bytes(element.got), options_.tolerance);
  if (is_type(element.type, "f32"))
    return replay::is_equal("f32", bytes(a), bytes(b), options_.tolerance);
  const replay::Half x = replay::Half::from_float(a), y = replay::Half::from_float(b);
  return replay::is_equal("f16", bytes(x), bytes(y), options_.tolerance);
}

std::string PrecisionJudge::describe(const Element& element) const {
  std::string name = fmt::format("memory at {:#x}", element.address);
  if (element.argument < kernel_.arguments.size()) {
    const std::string& type = kernel_.arguments[element.argument].type;
    name = fmt::format("argument {}{} [{}]", element.argument,
                       type.empty() ? "" : fmt::format(" ({})", type), element.index);
  }
  return fmt::format("{}: {:.9g} instead of {:.9g}", name, element.got, element.expected);
}

Precision PrecisionJudge::find(const replay::Capture& capture, CapturedMemory& memory,
                               const std::function<void()>& prepare) const {
  if (elements_.empty()) return {};
  const std::string tolerance = replay::to_text(options_.tolerance);
  prepare();
  ShadowWatch watch;
  emu::Watcher* const watchers[] = {&watch};
  replay::ReplayOptions replay;
  replay.threads = 1;
  replay.watchdog_instructions = options_.watchdog_instructions;
  replay.watchers = watchers;
  const replay::ReplayResult ran = replay::run_replay(capture, kernel_, memory, replay);
  const bool has_run = ran.refusal == replay::Refusal::kNone && !ran.fault;
  Errors errors;
  for (const Element& element : elements_) {
    const Cell reference =
        has_run ? reference_at(watch, memory, element.address, element.type) : Cell{};
    // Too large for the original's type at some point: what it left is no measure.
    if (reference.kind == CellKind::kOverflow) {
      ++errors.overflowed;
      continue;
    }
    const bool is_finite = std::isfinite(element.expected) && std::isfinite(element.got);
    if (!is_finite || reference.kind != kind_of(element.type)) {
      ++errors.without;
      if (!element.is_near) return {Outcome::kWrong, describe(element), ""};
      continue;
    }
    const double original = std::fabs(element.expected - reference.value);
    const double candidate = std::fabs(element.got - reference.value);
    ++errors.judged;
    errors.original += original * original;
    errors.candidate += candidate * candidate;
    if (candidate <= original) continue;
    if (!element.is_near && !is_near(reference.value, element))
      return {Outcome::kWrong,
              fmt::format("{}; the fp64 reference is {:.9g}", describe(element), reference.value),
              ""};
    if (!options_.may_lose && candidate > kSlack * std::max(reference.bound, original))
      return {
          Outcome::kImprecise,
          fmt::format(
              "less precise than the original: {}; from the fp64 reference it is off by {:.3g}, the original by "
              "{:.3g}, whose roundings explain {:.3g} at most",
              describe(element), candidate, original, reference.bound),
          ""};
  }
  return {Outcome::kGood, "", errors.note(tolerance, watch, has_run)};
}

}  // namespace wavetap::proof
