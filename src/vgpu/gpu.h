// One virtual GPU of this process: its model, its page table, its place in the topology.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emu/engine.h"
#include "model/model.h"
#include "vgpu/address_space.h"

namespace wavetap::vgpu {

// Created once when the driver starts, never destroyed: the application may submit work from atexit
// handlers. Fields are constant after creation; the address space locks itself.
struct Gpu {
  model::Model model;  // what the chip is
  // What the driver says it is: the same, but for models that lie on purpose.
  model::Model reported;
  bool hangs = false;            // `fault.hang`: no kernel ever ends
  bool corrupts_copies = false;  // `fault.sdma`: the copy engine damages what it copies
  uint32_t index = 0;            // 0-based among the GPUs
  uint32_t node = 0;             // topology node number, 1-based (node 0 is the CPU)
  uint32_t gpu_id = 0;           // KFD's opaque id
  uint32_t render_minor = 0;     // /dev/dri/renderD<minor>
  AddressSpace space;            // what the GPU may touch
  // Host address of this GPU's doorbell pages: 8 bytes per slot. Mapped from the same file the user
  // maps.
  volatile uint64_t* doorbells = nullptr;
  emu::Engine* engine = nullptr;  // shared by the process's GPUs
};

}  // namespace wavetap::vgpu
