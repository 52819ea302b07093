#include "proof/precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "proof/shadow_watch.h"
#include "replay/replay_run.h"

namespace wavetap::proof {
namespace {

using replay::CapturedMemory;

// Elements of which notes are kept; others are judged by the tolerance alone.
constexpr size_t kMostElements = 1 << 22;

double number_at(const std::byte* bytes, bool is_double) {
  if (is_double) {
    double value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

Cell reference_at(const ShadowWatch& watch, const CapturedMemory& memory, uint64_t address,
                  bool is_double) {
  const std::span<const std::byte> bytes = memory.bytes({address}, is_double ? 8 : 4);
  if (bytes.empty()) return {};
  uint32_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  return watch.at(address, bits);
}

// Errors of both, as far as elements have a reference.
struct Errors {
  double original = 0, candidate = 0;  // sums of squares
  uint64_t judged = 0, without = 0, overflowed = 0;

  std::string note(const std::string& tolerance, const std::string& not_followed) const {
    std::string text = "within " + tolerance;
    if (judged > 0 && original > 0)
      text += fmt::format("; error against fp64 {:.3g} of the original's ({} elements)",
                          std::sqrt(candidate / original), judged);
    else if (judged > 0) text += fmt::format("; {} elements held against fp64", judged);
    if (overflowed > 0)
      text += fmt::format("; {} left out, where the original overflows", overflowed);
    if (without > 0)
      text += fmt::format("; {} without a reference{}", without,
                          not_followed.empty() ? "" : ": " + not_followed + " is not followed");
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
    const bool is_double = pair.element == "f64";
    if ((!is_double && pair.element != "f32") || elements_.size() >= kMostElements) return is_near;
    const double expected = number_at(pair.expected, is_double);
    const double got = number_at(pair.got, is_double);
    if (is_near && (!std::isfinite(expected) || expected == got)) return true;
    elements_.push_back(
        {pair.argument, pair.address, pair.index, is_double, is_near, expected, got});
    return true;
  };
}

bool PrecisionJudge::is_near(double reference, const Element& element) const {
  if (element.is_double)
    return replay::is_equal("f64", reinterpret_cast<const std::byte*>(&reference),
                            reinterpret_cast<const std::byte*>(&element.got), options_.tolerance);
  const float a = static_cast<float>(reference), b = static_cast<float>(element.got);
  return replay::is_equal("f32", reinterpret_cast<const std::byte*>(&a),
                          reinterpret_cast<const std::byte*>(&b), options_.tolerance);
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
        has_run ? reference_at(watch, memory, element.address, element.is_double) : Cell{};
    // Too large for the original's type at some point: what it left is no measure.
    if (reference.kind == CellKind::kOverflow) {
      ++errors.overflowed;
      continue;
    }
    const bool is_finite = std::isfinite(element.expected) && std::isfinite(element.got);
    if (!is_finite || reference.kind != (element.is_double ? CellKind::kF64 : CellKind::kF32)) {
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
  return {Outcome::kGood, "", errors.note(tolerance, watch.not_followed())};
}

}  // namespace wavetap::proof
