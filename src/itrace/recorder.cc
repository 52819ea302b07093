#include "itrace/recorder.h"

#include <algorithm>
#include <new>

#include "emu/launch.h"
#include "emu/wave.h"
#include "emu/workgroup.h"

namespace wavetap::itrace {

struct Recorder::Group {
  std::vector<RecordedWave> waves;
};

UnitMap::Unit UnitMap::unit_of(uint64_t workgroup) const {
  const auto xcc = static_cast<uint32_t>(workgroup % xccs);
  const auto in_xcc = static_cast<uint32_t>(workgroup / xccs % units_per_xcc);
  Unit unit;
  unit.se = xcc * engines_per_xcc + in_xcc / units_per_engine;
  unit.cu = in_xcc % units_per_engine;
  unit.turn = workgroup / (uint64_t{xccs} * units_per_xcc);
  return unit;
}

UnitMap unit_map(const model::Model& model) {
  UnitMap map;
  const uint32_t cus_per_unit = model.target.major == 9 ? 1 : 2;
  map.xccs = std::max(model.xccs, 1u);
  map.units_per_xcc = std::max(model.compute_units / cus_per_unit / map.xccs, 1u);
  map.engines_per_xcc = std::clamp(model.shader_engines / map.xccs, 1u, map.units_per_xcc);
  map.units_per_engine = (map.units_per_xcc + map.engines_per_xcc - 1) / map.engines_per_xcc;
  return map;
}

bool Recorder::is_chosen(const UnitMap::Unit& unit) const {
  const bool in_engine = unit.se >= 64 || (choice_.engines >> unit.se & 1) != 0;
  return in_engine && (!choice_.cu || *choice_.cu == unit.cu);
}

emu::Wants Recorder::wants(const isa::Program& program, int32_t index) noexcept {
  const uint64_t pc = program.pc_of(index).value;
  Site site;
  site.pc = pc;
  site.program_begin = program.begin().value;
  site.inst = program.insts()[index];
  if (site.inst.vopd_first && index + 1 < program.size()) site.second = program.insts()[index + 1];
  const std::lock_guard lock(mutex_);
  const auto [number, is_new] = numbers_.try_emplace(pc, static_cast<uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  else sites_[number->second] = site;
  return {.before = true, .tag = number->second};
}

void Recorder::dispatch_began(const emu::Launch& launch) noexcept {
  const emu::Dispatch& dispatch = *launch.dispatch;
  needs_.wave64 = launch.wave64;
  // Per lane, as they are given out.
  needs_.vgprs = dispatch.target.is_gfx90a_family() ? launch.rows
                                                    : static_cast<uint32_t>(launch.registers.vgprs);
  needs_.lds_bytes = launch.lds_bytes;
  needs_.work_items = uint32_t{dispatch.workgroup_size[0]} * dispatch.workgroup_size[1] *
                      dispatch.workgroup_size[2];
  needs_.workgroups = launch.group_count;
  entry_ = launch.entry.value;
}

void Recorder::workgroup_began(const emu::Workgroup& group, void*& state) noexcept {
  const UnitMap::Unit unit = units_.unit_of(group.linear_id);
  if (!is_chosen(unit)) {
    const std::lock_guard lock(mutex_);
    elsewhere_ += group.waves.size();
    return;
  }
  auto* noted = new (std::nothrow) Group;
  if (noted == nullptr) return;
  noted->waves.resize(group.waves.size());
  for (uint32_t i = 0; i < noted->waves.size(); ++i) {
    noted->waves[i].workgroup = group.linear_id;
    noted->waves[i].wave_in_group = i;
    noted->waves[i].unit = unit;
  }
  state = noted;
}

void Recorder::before(const emu::WatchPoint& at) noexcept {
  if (at.state == nullptr) return;
  RecordedWave& wave = static_cast<Group*>(at.state)->waves[at.wave.wave_in_group];
  if (wave.lost != 0 || kept_.fetch_add(1, std::memory_order_relaxed) >= choice_.limit) {
    ++wave.lost;
    return;
  }
  wave.sites.push_back(static_cast<uint32_t>(at.tag));
}

void Recorder::workgroup_ended(const emu::Workgroup&, void*& state) noexcept {
  const std::unique_ptr<Group> noted(static_cast<Group*>(state));
  state = nullptr;
  if (noted == nullptr) return;
  const std::lock_guard lock(mutex_);
  for (RecordedWave& wave : noted->waves) waves_.push_back(std::move(wave));
}

std::vector<RecordedWave> Recorder::take_waves() {
  std::sort(waves_.begin(), waves_.end(), [](const RecordedWave& a, const RecordedWave& b) {
    return std::pair(a.workgroup, a.wave_in_group) < std::pair(b.workgroup, b.wave_in_group);
  });
  return std::move(waves_);
}

}  // namespace wavetap::itrace
