// Loads a code object into memory the way a driver's loader does, so that a kernel can be run where
// no ROCm is installed: loadable segments at their addresses relative to a base, relocations
// applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/gpu_addr.h"
#include "base/result.h"
#include "codeobj/code_object.h"

namespace wavetap::codeobj {

// Address of a symbol that the code object uses and does not define; nothing when there is none.
using SymbolResolver = std::optional<GpuAddr> (*)(std::string_view name, void* context);

struct ImageLayout {
  uint64_t size_bytes = 0;  // memory needed; linked address 0 is its start
  uint64_t align = 4096;
};

// Memory the code object needs. Fails on segments that overlap the end of the address space or ask
// for more than 4 GiB.
Result<ImageLayout> layout_of(const CodeObject& object);

// Fills `memory` (layout_of().size_bytes, any previous content) with the code object as the GPU
// will see it at `base`. A linked address A becomes base + A, for kernels: base +
// kernel.descriptor_address.
Status load_image(const CodeObject& object, std::span<std::byte> memory, GpuAddr base,
                  SymbolResolver resolver = nullptr, void* context = nullptr);

}  // namespace wavetap::codeobj
