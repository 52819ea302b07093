#include "store/import_devices.h"

#include <fmt/format.h>

#include <algorithm>

namespace wavetap::store {

std::string pci_address(uint32_t bdf) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", bdf >> 16, (bdf >> 8) & 0xff, (bdf >> 3) & 0x1f,
                     bdf & 7);
}

int64_t ImportDevices::id(const RawAgent* agent) {
  if (agent == nullptr || agent->fact.is_gpu == 0) return -1;
  const auto same = [&](const RawAgent& other) {
    return other.fact.driver_node == agent->fact.driver_node && other.fact.bdf == agent->fact.bdf &&
           other.uuid == agent->uuid && other.name == agent->name;
  };
  for (const auto& [id, device] : devices_)
    if (same(device.agent)) return id;
  int64_t id = agent->fact.gpu_index;
  while (devices_.contains(id)) ++id;
  devices_[id].agent = *agent;
  return id;
}

void ImportDevices::write_held(TraceWriter& writer) {
  std::stable_sort(held_.begin(), held_.end(),
                   [](const Held& a, const Held& b) { return a.time < b.time; });
  std::map<int64_t, int64_t> since;  // by device
  for (const Held& event : held_) {
    Device& device = devices_[event.device];
    const auto [span, is_first] = since.try_emplace(event.device, event.time);
    if (!is_first && event.time > span->second)
      writer.put(rows::Monitor{.device_type = "gpu",
                               .device = event.device,
                               .type = "memory",
                               .start = span->second,
                               .end = event.time,
                               .value = std::to_string(device.held_bytes)});
    span->second = event.time;
    device.held_bytes += event.delta;
    if (device.held_bytes > device.peak_bytes)
      device.peak_bytes = device.held_bytes, device.peak_time = event.time;
  }
}

void ImportDevices::write(TraceWriter& writer) {
  write_held(writer);
  for (const auto& [id, device] : devices_) {
    const format::AgentFact& agent = device.agent.fact;
    const std::string pci = pci_address(agent.bdf);
    writer.put(rows::DeviceUse{
        .id = id,
        .name = device.agent.name,
        .product = device.agent.product,
        .uuid = device.agent.uuid,
        .compute_units = agent.compute_units,
        .clock_mhz = agent.clock_mhz,
        .wavefront = agent.wavefront,
        .pci = pci,
        .memory_bytes = agent.memory_bytes,
        .peak_bytes = device.peak_bytes,
        .peak_time = device.peak_time == 0 ? std::nullopt : std::optional(device.peak_time)});
  }
}

}  // namespace wavetap::store
