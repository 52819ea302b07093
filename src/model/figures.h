// Names for what a GPU's peaks are about: execution pipes, number formats, levels of memory. Model
// files spell them in keys (`measured.vector.f32`, `latency.l2`), reports in tables.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wavetap::model {

enum class Pipe : uint8_t {
  kVector,  // one operation per lane
  kPacked,  // two values per lane in one register pair or register (v_pk_*)
  kDual,    // two instructions issued together (VOPD)
  kMatrix,  // MFMA, WMMA
};
enum class Precision : uint8_t { kF64, kF32, kXf32, kF16, kBf16, kF8, kI8 };

// An arithmetic rate: which pipe, in which number format. "matrix.f16".
struct Rate {
  Pipe pipe{};
  Precision precision{};
  friend constexpr auto operator<=>(const Rate&, const Rate&) = default;
};

// From the nearest to the farthest. L1 is a CU's vector cache (L0 on RDNA), GL1 the cache of an
// RDNA shader array, L3 the Infinity Cache.
enum class Level : uint8_t { kLds, kScalarL1, kL1, kGl1, kL2, kL3, kVram };

std::string_view name_of(Pipe pipe);
std::string_view name_of(Precision precision);
std::string_view name_of(Level level);
std::string name_of(Rate rate);

// The names above, back. Nothing when it is none of them.
std::optional<Rate> parse_rate(std::string_view text);
std::optional<Level> parse_level(std::string_view text);

}  // namespace wavetap::model
