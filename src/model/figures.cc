#include "model/figures.h"

namespace wavetap::model {
namespace {

constexpr std::string_view kPipes[] = {"vector", "packed", "dual", "matrix"};
constexpr std::string_view kPrecisions[] = {"f64", "f32", "xf32", "f16", "bf16", "f8", "i8"};
constexpr std::string_view kLevels[] = {"lds", "scalar_l1", "l1", "gl1", "l2", "l3", "vram"};

template <class Enum, size_t kCount>
std::optional<Enum> find(const std::string_view (&names)[kCount], std::string_view text) {
  for (size_t i = 0; i < kCount; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Pipe pipe) { return kPipes[static_cast<size_t>(pipe)]; }
std::string_view name_of(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)];
}
std::string_view name_of(Level level) { return kLevels[static_cast<size_t>(level)]; }

std::string name_of(Rate rate) {
  return std::string(name_of(rate.pipe)) + "." + std::string(name_of(rate.precision));
}

std::optional<Rate> parse_rate(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<Pipe> pipe = find<Pipe>(kPipes, text.substr(0, dot));
  const std::optional<Precision> precision = find<Precision>(kPrecisions, text.substr(dot + 1));
  if (!pipe || !precision) return std::nullopt;
  return Rate{.pipe = *pipe, .precision = *precision};
}

std::optional<Level> parse_level(std::string_view text) { return find<Level>(kLevels, text); }

}  // namespace wavetap::model
