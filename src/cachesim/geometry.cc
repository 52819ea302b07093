#include "cachesim/geometry.h"

#include <algorithm>

namespace wavetap::cachesim {
namespace {

// Where no source gives the associativity or the number of channels. What a kernel misses depends little
// on either unless it strides by large powers of two.
constexpr uint32_t kUnknownWays = 16;
constexpr uint32_t kUnknownChannels = 16;

}  // namespace

Geometry geometry_of(const model::Model& model) {
  const auto or_else = [](uint32_t value, uint32_t fallback) {
    return value != 0 ? value : fallback;
  };
  Geometry g;
  g.target = model.target;
  g.xccs = std::max(model.xccs, 1u);
  g.cus_per_xcc = std::max(model.compute_units / g.xccs, 1u);
  g.cus_per_scalar_cache = std::max(model.cus_per_scalar_cache, 1u);
  const uint32_t arrays = std::max(model.shader_arrays() / g.xccs, 1u);
  g.cus_per_array = model.gl1_kib == 0 ? 0 : std::max((g.cus_per_xcc + arrays - 1) / arrays, 1u);
  g.l1_bytes = model.l1_vector_kib << 10;
  g.l1_line = std::max(model.vector_line_bytes(), 64u);
  g.l1_ways = or_else(model.l1_ways, kUnknownWays);
  g.gl1_bytes = model.gl1_kib << 10;
  g.scalar_bytes = std::max(model.l1_scalar_kib, 1u) << 10;
  g.instruction_bytes = std::max(model.l1_instruction_kib, 1u) << 10;
  g.l2_bytes = uint64_t{model.l2_kib} << 10;
  g.l2_line = std::max(model.cache_line_bytes, 64u);
  g.l2_ways = or_else(model.l2_ways, kUnknownWays);
  g.l2_channels = or_else(model.l2_channels, kUnknownChannels);
  g.l2_sector = std::clamp(or_else(model.l2_sector_bytes, g.l2_line), 64u, g.l2_line);
  g.fabric_read = std::clamp(or_else(model.fabric_read_bytes, g.l2_line), 32u, g.l2_line);
  g.l3_bytes = uint64_t{model.l3_kib} << 10;
  return g;
}

}  // namespace wavetap::cachesim
