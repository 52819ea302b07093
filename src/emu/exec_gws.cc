// ds_gws_*: global wave sync, counters shared by all workgroups of a GPU on which waves can wait. HIP's
// cooperative launches set one up with a small kernel (ds_gws_init) and then use it as a grid-wide barrier.
//
// Resource = M0[21:16] + offset; the operand is data0 of the lowest active lane.
//   init            counter = operand
//   barrier         counter == 0: release everybody, counter = operand; else: --counter, wait
//   sema_v          ++counter
//   sema_br         counter += operand
//   sema_p          counter > 0: --counter; else wait
//   sema_release_all  release everybody
//
// A wave that waits executes its instruction again later: it steps back and yields, so that the engine runs
// others in between. Whether it has been released is the generation of the resource, which every release
// advances, compared with the one the wave began to wait in.
#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "emu/exec.h"
#include "emu/mem_access.h"

namespace wavetap::emu {
namespace {

using isa::Inst;
using isa::Op;

struct Waiter {
  const Wave* wave;
  uint64_t dispatch_id;  // a Wave's address is used again by later dispatches
  uint64_t generation;
};

struct Resource {
  const Memory* gpu;  // an address space is a GPU
  uint32_t id;
  uint32_t counter = 0;
  uint64_t generation = 0;
  std::vector<Waiter> waiters;

  // The wave's entry, or null. Forgets what a wave of an abandoned dispatch has left.
  Waiter* waiter(const Wave& wave) {
    std::erase_if(waiters, [&](const Waiter& entry) {
      return entry.wave == &wave && entry.dispatch_id != wave.dispatch->dispatch_id;
    });
    const auto found = std::find_if(waiters.begin(), waiters.end(), [&](const Waiter& entry) { return entry.wave == &wave; });
    return found == waiters.end() ? nullptr : &*found;
  }
  void wait(Wave& wave) {
    if (waiter(wave) == nullptr) waiters.push_back({&wave, wave.dispatch->dispatch_id, generation});
    --wave.pc;
    wave.yield();
  }
  void leave(const Wave& wave) {
    std::erase_if(waiters, [&](const Waiter& entry) { return entry.wave == &wave; });
  }
};

// All resources of the process. Created at first use, never destroyed: queues may outlive main().
struct Registry {
  std::mutex mutex;
  std::vector<Resource> resources;
};

Registry* registry() {
  static Registry* const instance = new (std::nothrow) Registry;
  return instance;
}

template <class F>
void with_resource(Wave& wave, const Inst& inst, F&& use) {
  Registry* const all = registry();
  if (all == nullptr) {
    wave.raise(FaultKind::kUnimplemented, {}, false, -1, "no host memory for global wave sync");
    return;
  }
  const uint32_t id = ((wave.s[isa::slot::kM0] >> 16) + static_cast<uint32_t>(inst.offset)) & 0x3f;
  const Memory* gpu = wave.dispatch->memory;
  const std::lock_guard lock(all->mutex);
  auto found = std::find_if(all->resources.begin(), all->resources.end(),
                            [&](const Resource& entry) { return entry.gpu == gpu && entry.id == id; });
  if (found == all->resources.end()) found = all->resources.insert(found, Resource{.gpu = gpu, .id = id, .waiters = {}});
  use(*found);
}

uint32_t operand(Wave& wave, const Inst& inst) {
  const uint64_t mask = wave.exec();
  return data_rows(wave, inst.src[0])[mask == 0 ? 0 : std::countr_zero(mask)];
}

void ds_gws_init(Wave& wave, const Inst& inst) {
  with_resource(wave, inst, [&](Resource& resource) {
    resource.counter = operand(wave, inst);
    resource.waiters.clear();
  });
}

void ds_gws_barrier(Wave& wave, const Inst& inst) {
  with_resource(wave, inst, [&](Resource& resource) {
    if (const Waiter* waiter = resource.waiter(wave)) {
      if (waiter->generation == resource.generation)
        resource.wait(wave);
      else
        resource.leave(wave);
      return;
    }
    if (resource.counter == 0) {
      resource.counter = operand(wave, inst);
      ++resource.generation;
    } else {
      --resource.counter;
      resource.wait(wave);
    }
  });
}

void ds_gws_sema_v(Wave& wave, const Inst& inst) {
  with_resource(wave, inst, [&](Resource& resource) { ++resource.counter; });
}

void ds_gws_sema_br(Wave& wave, const Inst& inst) {
  with_resource(wave, inst, [&](Resource& resource) { resource.counter += operand(wave, inst); });
}

void ds_gws_sema_p(Wave& wave, const Inst& inst) {
  with_resource(wave, inst, [&](Resource& resource) {
    const Waiter* waiter = resource.waiter(wave);
    if (waiter != nullptr && waiter->generation != resource.generation) {
      resource.leave(wave);
    } else if (resource.counter > 0) {
      --resource.counter;
      resource.leave(wave);
    } else {
      resource.wait(wave);
    }
  });
}

void ds_gws_sema_release_all(Wave& wave, const Inst& inst) {
  with_resource(wave, inst, [&](Resource& resource) { ++resource.generation; });
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
