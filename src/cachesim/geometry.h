// Geometry: the caches of a GPU as the model of them needs them, all from its model file.
#pragma once

#include <cstdint>

#include "amd/gfx_target.h"
#include "model/model.h"

namespace wavetap::cachesim {

struct Geometry {
  amd::GfxTarget target;
  uint32_t xccs = 1;
  uint32_t cus_per_xcc = 1;
  uint32_t cus_per_scalar_cache = 2;
  uint32_t cus_per_array = 0;  // that share a GL1; 0: there is none

  uint32_t l1_bytes = 16 << 10, l1_line = 64, l1_ways = 16;
  uint32_t gl1_bytes = 0;
  uint32_t scalar_bytes = 16 << 10;
  uint32_t instruction_bytes = 32 << 10;
  uint64_t l2_bytes = 4 << 20;  // of an XCC
  uint32_t l2_line = 128, l2_ways = 16, l2_channels = 16;
  uint32_t l2_sector = 128;  // what a read request asks for at most, and what a miss fetches
  uint32_t fabric_read = 64;
  uint64_t l3_bytes = 0;

  uint32_t cus() const { return xccs * cus_per_xcc; }
};

Geometry geometry_of(const model::Model& model);

}  // namespace wavetap::cachesim
