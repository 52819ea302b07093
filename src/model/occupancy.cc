#include "model/occupancy.h"

#include <algorithm>

#include "base/round_up.h"

namespace wavetap::model {
namespace {

// The register file of a SIMD as one wave sees it: how many registers there are, and in what portions
// they are given out.
struct RegisterFile {
  uint32_t registers;
  uint32_t granule;
};

RegisterFile vgpr_file(amd::GfxTarget target, bool wave64) {
  if (target.is_gfx90a_family()) return {512, 8};
  if (target.major == 9) return {256, 4};
  if (target.major == 11 && target.stepping <= 1 && target.minor == 0)
    return wave64 ? RegisterFile{768, 12} : RegisterFile{1536, 24};
  const bool wide = target.major == 11 || (target.major == 10 && target.minor == 3);
  if (wave64) return {512, wide ? 8u : 4u};
  return {1024, wide ? 16u : 8u};
}

}  // namespace

std::string_view name_of(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::kWaveSlots: return "wave slots";
    case OccupancyLimit::kVgprs: return "vector registers";
    case OccupancyLimit::kSgprs: return "scalar registers";
    case OccupancyLimit::kLds: return "LDS";
    case OccupancyLimit::kWorkgroupSlots: return "workgroup slots";
    case OccupancyLimit::kWorkgroupSize: return "workgroup size";
    case OccupancyLimit::kGrid: return "grid";
  }
  return "wave slots";
}

Occupancy occupancy(const Model& model, const KernelNeeds& needs) {
  const bool rdna = model.target.major >= 10;
  const uint32_t cus_per_unit = rdna ? 2 : 1;
  Occupancy found;
  found.units = std::max(model.compute_units / cus_per_unit, 1u);
  found.simds_per_unit = model.simds_per_cu * cus_per_unit;
  found.max_waves_per_simd = model.waves_per_simd;
  const uint32_t lanes = needs.wave64 ? 64 : 32;
  const uint32_t waves = std::max((needs.work_items + lanes - 1) / lanes, 1u);
  found.waves_per_workgroup = waves;

  const RegisterFile file = vgpr_file(model.target, needs.wave64);
  const uint32_t vgprs = round_up(std::max(needs.vgprs, 1u), file.granule);
  found.by_slots = model.waves_per_simd;
  found.by_vgprs = std::min(file.registers / vgprs, model.waves_per_simd);
  found.by_sgprs = model.waves_per_simd;
  constexpr uint32_t kGfx9Sgprs = 800, kGfx9SgprGranule = 16;
  if (!rdna && needs.sgprs != 0)
    found.by_sgprs =
        std::min(kGfx9Sgprs / round_up(needs.sgprs, kGfx9SgprGranule), model.waves_per_simd);

  const uint32_t simds = found.simds_per_unit;
  const uint32_t lds = model.lds_kib * 1024 * cus_per_unit;
  const uint32_t lds_groups = needs.lds_bytes == 0 ? UINT32_MAX : lds / needs.lds_bytes;
  const uint32_t group_slots = waves == 1 ? UINT32_MAX : 16 * cus_per_unit;
  const uint32_t slots = model.waves_per_simd * simds;
  const uint32_t by_registers = std::min(found.by_vgprs, found.by_sgprs) * simds / waves;
  const uint32_t by_waves = slots / waves;
  uint32_t groups = by_waves;
  found.limit =
      by_waves * waves == slots ? OccupancyLimit::kWaveSlots : OccupancyLimit::kWorkgroupSize;
  if (group_slots < groups) groups = group_slots, found.limit = OccupancyLimit::kWorkgroupSlots;
  if (by_registers < groups) {
    groups = by_registers;
    found.limit = found.by_sgprs < found.by_vgprs ? OccupancyLimit::kSgprs : OccupancyLimit::kVgprs;
  }
  if (lds_groups < groups) groups = lds_groups, found.limit = OccupancyLimit::kLds;
  found.by_lds =
      std::min(lds_groups == UINT32_MAX ? model.waves_per_simd : lds_groups * waves / simds,
               model.waves_per_simd);
  if (needs.workgroups != 0) {
    const auto offered = static_cast<uint32_t>(
        std::min<uint64_t>((needs.workgroups + found.units - 1) / found.units, UINT32_MAX));
    if (offered < groups) groups = offered, found.limit = OccupancyLimit::kGrid;
  }
  found.workgroups_per_unit = groups;
  found.waves_per_simd = groups * waves / simds;
  return found;
}

}  // namespace wavetap::model
