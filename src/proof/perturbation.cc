#include "proof/perturbation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "replay/half.h"
#include "replay/kernel_argument.h"
#include "replay/touched_memory.h"
#include "util/random.h"

namespace wavetap::proof {
namespace {

using replay::CapturedArgument;

bool is_float(const std::string& element) {
  return element == "f16" || element == "bf16" || element == "f32" || element == "f64";
}

bool is_input(const CapturedArgument& argument) {
  return argument.region != nullptr && !argument.arg.is_hidden() && argument.extent_bytes != 0;
}

bool changes_inputs(Change change) {
  return change == Change::kRandom || change == Change::kPermuted || change == Change::kScaled ||
         change == Change::kSpecial;
}

template <class Float>
Float special(uint64_t which) {
  constexpr Float kSpecials[] = {std::numeric_limits<Float>::quiet_NaN(),
                                 std::numeric_limits<Float>::infinity(),
                                 -std::numeric_limits<Float>::infinity(),
                                 std::numeric_limits<Float>::denorm_min(),
                                 Float{0},
                                 -Float{0},
                                 std::numeric_limits<Float>::max()};
  return kSpecials[which % std::size(kSpecials)];
}

template <class Float>
void change_floats(Change change, util::Random& numbers, std::span<std::byte> bytes) {
  for (size_t at = 0; at + sizeof(Float) <= bytes.size(); at += sizeof(Float)) {
    Float value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (change == Change::kRandom) value = static_cast<Float>(numbers.unit() * 4 - 2);
    if (change == Change::kScaled) value *= Float(1.0009765) + Float(1) / 3;
    if (change == Change::kSpecial && numbers.next() % 8 == 0)
      value = special<Float>(numbers.next());
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

// The same numbers, in fewer digits. What is too large for them becomes infinite.
template <class Short>
void change_halves(Change change, util::Random& numbers, std::span<std::byte> bytes) {
  for (size_t at = 0; at + sizeof(Short) <= bytes.size(); at += sizeof(Short)) {
    Short value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    float wide = value.to_float();
    std::byte place[sizeof wide];
    std::memcpy(place, &wide, sizeof wide);
    change_floats<float>(change, numbers, place);
    std::memcpy(&wide, place, sizeof wide);
    value = Short::from_float(wide);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

// Elements of unknown type move in words of four bytes.
void permute(util::Random& numbers, std::span<std::byte> bytes, size_t element) {
  const size_t count = bytes.size() / element;
  std::vector<std::byte> swap(element);
  for (size_t i = count; i > 1; --i) {
    std::byte* a = bytes.data() + (i - 1) * element;
    std::byte* b = bytes.data() + numbers.next() % i * element;
    std::memcpy(swap.data(), a, element);
    std::memcpy(a, b, element);
    std::memcpy(b, swap.data(), element);
  }
}

void poison(Change change, const std::vector<format::CaptureTouchedPage>& touched,
            replay::CapturedMemory& memory) {
  // 1.75 as a float, and as a double near enough to one.
  constexpr uint8_t kNumber[8] = {0x00, 0x00, 0xe0, 0x3f, 0x00, 0x00, 0xe0, 0x3f};
  for (const format::CaptureTouchedPage& page : touched) {
    for (uint64_t byte = 0; byte < format::kCapturePageBytes; ++byte) {
      if (!replay::has_bit(page.written, byte) || replay::has_bit(page.read, byte)) continue;
      const std::span<std::byte> place = memory.bytes({page.address + byte}, 1);
      if (place.empty()) continue;
      place[0] = change == Change::kPoisonNan ? std::byte{0xff} : std::byte{kNumber[byte % 8]};
    }
  }
}

}  // namespace

std::string Perturbation::name() const {
  switch (change) {
    case Change::kNone: return "as recorded";
    case Change::kPoisonNan: return "outputs filled with NaN";
    case Change::kPoisonNumber: return "outputs filled with a number";
    case Change::kRandom: return "other input values";
    case Change::kPermuted: return "inputs permuted";
    case Change::kScaled: return "inputs scaled";
    case Change::kSpecial: return "NaN, infinities and denormals among the inputs";
    case Change::kSmaller: return fmt::format("argument {} is {}", argument, value);
    case Change::kMoved: return "memory elsewhere";
    case Change::kStaleNan: return "registers, LDS and scratch filled with NaN";
    case Change::kStaleNumber: return "registers, LDS and scratch filled with a number";
    case Change::kOtherQueue: return "another queue";
    case Change::kLarger: return "one workgroup more";
  }
  return "";
}

uint32_t Perturbation::initial_fill() const {
  if (change == Change::kStaleNan) return UINT32_MAX;
  return change == Change::kStaleNumber ? std::bit_cast<uint32_t>(1.75f) : 0;
}

std::vector<Perturbation> perturbations_of(const replay::CapturedKernel& kernel, uint64_t seed) {
  util::Random numbers(seed);
  std::vector<Perturbation> made;
  for (const Change change :
       {Change::kPoisonNan, Change::kPoisonNumber, Change::kStaleNan, Change::kStaleNumber})
    made.push_back({change, numbers.next(), 0, 0});
  bool has_floats = false;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel.arguments[i];
    has_floats = has_floats || (is_input(argument) && is_float(argument.element));
    const std::string& type = argument.element;
    if (argument.arg.is_hidden() || argument.region != nullptr || argument.value.size() != 4 ||
        (type != "i32" && type != "u32"))
      continue;
    int32_t value = 0;
    std::memcpy(&value, argument.value.data(), sizeof value);
    if (value < 2 || value > 1 << 30) continue;
    const auto below = static_cast<uint32_t>(value);
    made.push_back({Change::kSmaller, numbers.next(), i, below - 1});
    if (below >= 4) made.push_back({Change::kSmaller, numbers.next(), i, below / 2 + 1});
  }
  made.push_back({Change::kPermuted, numbers.next(), 0, 0});
  for (const Change change : {Change::kMoved, Change::kOtherQueue, Change::kLarger})
    made.push_back({change, numbers.next(), 0, 0});
  if (has_floats)
    for (const Change change : {Change::kRandom, Change::kScaled, Change::kSpecial})
      made.push_back({change, numbers.next(), 0, 0});
  for (size_t i = made.size(); i > 1; --i) std::swap(made[i - 1], made[numbers.next() % i]);
  return made;
}

void perturb(const Perturbation& perturbation, const replay::Capture& capture,
             const replay::CapturedKernel& kernel,
             const std::vector<format::CaptureTouchedPage>& touched,
             replay::CapturedMemory& memory) {
  const Change change = perturbation.change;
  util::Random numbers(perturbation.seed);
  if (change == Change::kPoisonNan || change == Change::kPoisonNumber)
    return poison(change, touched, memory);
  if (change == Change::kSmaller) {
    const CapturedArgument& argument = kernel.arguments[perturbation.argument];
    const std::span<std::byte> place =
        memory.bytes({capture.dispatch.kernarg + argument.arg.offset}, sizeof perturbation.value);
    if (!place.empty()) std::memcpy(place.data(), &perturbation.value, place.size());
    return;
  }
  if (!changes_inputs(change)) return;
  for (const CapturedArgument& argument : kernel.arguments) {
    if (!is_input(argument)) continue;
    const std::span<std::byte> bytes =
        memory.bytes({argument.pointer}, argument.extent_bytes / 4 * 4);
    if (bytes.empty()) continue;
    const size_t element = replay::element_bytes(argument.element);
    if (change == Change::kPermuted) permute(numbers, bytes, element == 0 ? 4 : element);
    else if (argument.element == "f32") change_floats<float>(change, numbers, bytes);
    else if (argument.element == "f64") change_floats<double>(change, numbers, bytes);
    else if (argument.element == "f16") change_halves<replay::Half>(change, numbers, bytes);
    else if (argument.element == "bf16") change_halves<replay::BrainHalf>(change, numbers, bytes);
  }
}

}  // namespace wavetap::proof
