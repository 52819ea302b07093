// ds_gws_*: global wave sync, counters shared by all workgroups of a GPU on which waves can wait.
// HIP's cooperative launches set one up with a small kernel (ds_gws_init) and then use it as a
// grid-wide barrier.
//
// Resource = M0[21:16] + offset; the operand is data0 of the lowest active lane.
//   init            counter = operand
//   barrier         counter == 0: release everybody, counter = operand; else: --counter, wait
//   sema_v          ++counter
//   sema_br         counter += operand
//   sema_p          counter > 0: --counter; else wait
//   sema_release_all  release everybody
//
// A wave that waits executes its instruction again later: it steps back and yields, so that the
// engine runs others in between. Whether it has been released is the generation of the resource,
// which every release advances, compared with the one the wave began to wait in. Counter and
// generation change together, by one compare-and-swap (WaveSync in memory.h); no lock is held, as
// is the rule inside a slice.
#include <atomic>

#include "emu/exec.h"
#include "emu/exec/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;

struct Resource {
  uint32_t counter;
  uint32_t generation;
};

// Changes the instruction's resource by `step`, which gets what it is and makes it what it shall
// be; `step` may run several times. Returns what the resource was.
template <class Step>
Resource update(Wave& wave, const Inst& inst, Step&& step) {
  const uint32_t id =
      ((wave.s[isa::slot::kM0] >> 16) + static_cast<uint32_t>(inst.offset)) % WaveSync::kResources;
  std::atomic<uint64_t>& cell = wave.dispatch->memory->wave_sync.resource[id];
  uint64_t old = cell.load(std::memory_order_acquire);
  for (;;) {
    const Resource before = {static_cast<uint32_t>(old), static_cast<uint32_t>(old >> 32)};
    Resource after = before;
    step(after);
    const uint64_t next = after.counter | uint64_t{after.generation} << 32;
    // Orders what the waves did before they met against what they do after; pairs with itself.
    if (cell.compare_exchange_weak(old, next, std::memory_order_acq_rel, std::memory_order_acquire))
      return before;
  }
}

void wait(Wave& wave, uint32_t generation) {
  wave.waits_for_sync = true;
  wave.sync_generation = generation;
  --wave.pc;
  wave.yield();
}

bool is_released(const Wave& wave, uint32_t generation) {
  return wave.waits_for_sync && wave.sync_generation != generation;
}

uint32_t operand(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  return data_rows(wave, inst.src[0])[mask == 0 ? 0 : std::countr_zero(mask)];
}

void ds_gws_init(Wave& wave, const Inst& inst) {
  update(wave, inst, [&](Resource& resource) { resource.counter = operand(wave, inst); });
}

void ds_gws_barrier(Wave& wave, const Inst& inst) {
  // Who waits has arrived already and only looks.
  const Resource found = update(wave, inst, [&](Resource& resource) {
    if (wave.waits_for_sync) return;
    if (resource.counter == 0) resource = {operand(wave, inst), resource.generation + 1};
    else --resource.counter;
  });
  const bool last = !wave.waits_for_sync && found.counter == 0;
  if (last || is_released(wave, found.generation)) wave.waits_for_sync = false;
  else wait(wave, found.generation);
}

void ds_gws_sema_v(Wave& wave, const Inst& inst) {
  update(wave, inst, [](Resource& resource) { ++resource.counter; });
}

void ds_gws_sema_br(Wave& wave, const Inst& inst) {
  update(wave, inst, [&](Resource& resource) { resource.counter += operand(wave, inst); });
}

void ds_gws_sema_p(Wave& wave, const Inst& inst) {
  const Resource found = update(wave, inst, [&](Resource& resource) {
    if (!is_released(wave, resource.generation) && resource.counter > 0) --resource.counter;
  });
  if (found.counter > 0 || is_released(wave, found.generation)) wave.waits_for_sync = false;
  else wait(wave, found.generation);
}

void ds_gws_sema_release_all(Wave& wave, const Inst& inst) {
  update(wave, inst, [](Resource& resource) { ++resource.generation; });
}

}  // namespace

Handler find_gws(const Inst& inst) {
  switch (inst.op) {
    case Op::ds_gws_init: return ds_gws_init;
    case Op::ds_gws_barrier: return ds_gws_barrier;
    case Op::ds_gws_sema_v: return ds_gws_sema_v;
    case Op::ds_gws_sema_br: return ds_gws_sema_br;
    case Op::ds_gws_sema_p: return ds_gws_sema_p;
    case Op::ds_gws_sema_release_all: return ds_gws_sema_release_all;
    default: return nullptr;
  }
}

}  // namespace wavetap::emu
