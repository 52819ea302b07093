// Occupancy: how many waves of a kernel a GPU can hold at once, and what keeps it from holding more.
//
// Registers, LDS, wave slots and workgroup slots are given out in whole units; the scarcest decides.
// A unit is what workgroups are placed on: a CU, or on RDNA a work-group processor of two. Register
// files and granules: AMD's instruction-set guides and LLVM's target descriptions.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/model.h"

namespace wavetap::model {

struct KernelNeeds {
  bool wave64 = true;
  uint32_t vgprs = 0;       // per lane; gfx90a and later CDNA: accumulation registers included
  uint32_t sgprs = 0;       // per wave; 0: not known
  uint32_t lds_bytes = 0;   // per workgroup
  uint32_t work_items = 1;  // per workgroup
  uint64_t workgroups = 0;  // of the dispatch; 0: enough
};

enum class OccupancyLimit : uint8_t {
  kWaveSlots,  // as full as it gets
  kVgprs,
  kSgprs,
  kLds,
  kWorkgroupSlots,  // more, smaller workgroups than a unit has room to track
  kWorkgroupSize,   // another workgroup would need more wave slots than are left
  kGrid,            // the dispatch has no more workgroups
};
std::string_view name_of(OccupancyLimit limit);

struct Occupancy {
  uint32_t waves_per_simd = 0;  // of a full unit, rounded down
  uint32_t max_waves_per_simd = 0;
  uint32_t workgroups_per_unit = 0;  // 0: the kernel cannot run
  uint32_t waves_per_workgroup = 1;
  uint32_t units = 1;  // CUs or work-group processors of the GPU
  uint32_t simds_per_unit = 4;
  OccupancyLimit limit = OccupancyLimit::kWaveSlots;
  // What each would allow alone, in waves per SIMD.
  uint32_t by_vgprs = 0, by_sgprs = 0, by_lds = 0, by_slots = 0;

  // Of the waves that a full unit could hold.
  double share() const {
    const uint32_t room = max_waves_per_simd * simds_per_unit;
    return room == 0 ? 0 : double(workgroups_per_unit * waves_per_workgroup) / room;
  }
  // Waves of the whole GPU at once, were there enough workgroups.
  uint64_t resident_waves() const {
    return uint64_t{workgroups_per_unit} * waves_per_workgroup * units;
  }
};

Occupancy occupancy(const Model& model, const KernelNeeds& needs);

}  // namespace wavetap::model
