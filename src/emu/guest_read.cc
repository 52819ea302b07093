#include "emu/guest_read.h"

#include <algorithm>
#include <cstring>

namespace wavetap::emu {

bool guest_read(Memory& memory, RunGuarded run_guarded, GpuAddr address, std::span<std::byte> out,
                bool executable) {
  struct Copy {
    std::byte* to;
    const std::byte* from;
    size_t size_bytes;
  };
  while (!out.empty()) {
    const MappedRange range = memory.lookup(address);
    if (!range.contains(address.value, 1) || !range.readable || (executable && !range.executable))
      return false;
    Copy copy{out.data(), range.host + (address.value - range.begin),
              static_cast<size_t>(std::min<uint64_t>(out.size(), range.end - address.value))};
    const auto body = [](void* arg) {
      const auto* c = static_cast<const Copy*>(arg);
      std::memcpy(c->to, c->from, c->size_bytes);
    };
    uint64_t fault_address = 0;
    if (run_guarded == nullptr) body(&copy);
    else if (!run_guarded(body, &copy, &fault_address)) return false;
    out = out.subspan(copy.size_bytes);
    address = address + copy.size_bytes;
  }
  return true;
}

}  // namespace wavetap::emu
