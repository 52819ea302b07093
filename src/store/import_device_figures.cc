// Layers number GPUs differently and show different ones; the place on the PCI bus tells which is
// which. HIP and CUDA leave out the function, which tells the partitions of one chip apart: those
// go in order.
#include "store/import_device_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace wavetap::store {
namespace {

using format::DeviceLayer;

const char* layer_name(DeviceLayer layer) {
  switch (layer) {
    case DeviceLayer::kDriver: return "driver";
    case DeviceLayer::kHsa: return "hsa";
    case DeviceLayer::kHip: return "hip";
    case DeviceLayer::kCuda: return "cuda";
    case DeviceLayer::kEnvironment: return "environment";
  }
  return "other";
}

struct Figure {
  std::string value;
  std::optional<std::string> told;
};

struct Source {
  uint32_t bdf = 0;
  std::map<std::string, Figure> figures;
};
// By layer and the layer's own number.
using Sources = std::map<std::pair<DeviceLayer, uint32_t>, Source>;

template <class Take>
void for_each_line(const std::string& text, Take take) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t space = text.find(' ', at);
    if (space < end) take(text.substr(at, space - at), text.substr(space + 1, end - space - 1));
    at = end + 1;
  }
}

Sources sources_of(const RawFacts& facts) {
  Sources sources;
  for (const auto& [number, agent] : facts.agents) {
    if (agent.fact.is_gpu == 0) continue;
    Source& source = sources[{DeviceLayer::kHsa, number}];
    source.bdf = agent.fact.bdf;
    source.figures["name"].value = agent.product;
    source.figures["arch"].value = agent.name;
    source.figures["compute_units"].value = std::to_string(agent.fact.compute_units);
    source.figures["clock_mhz"].value = std::to_string(agent.fact.clock_mhz);
    source.figures["wave_size"].value = std::to_string(agent.fact.wavefront);
    source.figures["vram_bytes"].value = std::to_string(agent.fact.memory_bytes);
  }
  for (const RawDevice& device : facts.devices) {
    Source& source = sources[{device.layer, device.fact.number}];
    source.bdf = device.fact.bdf;
    if (device.layer == DeviceLayer::kDriver)
      source.figures["node"].value = std::to_string(device.fact.number);
    const bool corrects = !device.told.empty();
    for_each_line(device.figures, [&](const std::string& name, const std::string& value) {
      Figure& figure = source.figures[name];
      if (!figure.told || corrects) figure.value = value;
    });
    for_each_line(device.told, [&](const std::string& name, const std::string& value) {
      source.figures[name].told = value;
    });
  }
  return sources;
}

// The agent a layer's GPU is; null when HSA does not show it to this process.
const RawAgent* agent_of(const RawFacts& facts, const Sources& sources, DeviceLayer layer,
                         uint32_t number, uint32_t bdf) {
  if (layer == DeviceLayer::kHsa) return facts.agent(number);
  constexpr uint32_t kFunction = 7;
  size_t before = 0;  // GPUs of this layer in the same place
  for (const auto& [key, other] : sources)
    if (key.first == layer && key.second < number && (other.bdf | kFunction) == (bdf | kFunction))
      ++before;
  for (const auto& [id, agent] : facts.agents) {
    if (agent.fact.is_gpu == 0 || (agent.fact.bdf | kFunction) != (bdf | kFunction)) continue;
    if (layer == DeviceLayer::kDriver ? agent.fact.driver_node == number : before-- == 0)
      return &agent;
  }
  return nullptr;
}

}  // namespace

void write_device_figures(const RawFacts& facts, ImportDevices& devices, ImportFile& file) {
  if (facts.devices.empty()) return;
  const Sources sources = sources_of(facts);
  std::vector<std::vector<ImportFile::Cell>> rows;
  for (const auto& [key, source] : sources) {
    const auto& [layer, number] = key;
    ImportFile::Cell gpu, pci;
    if (layer != DeviceLayer::kEnvironment) {
      pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", source.bdf >> 16, (source.bdf >> 8) & 0xff,
                        (source.bdf >> 3) & 0x1f, source.bdf & 7);
      const int64_t id = devices.id(agent_of(facts, sources, layer, number, source.bdf));
      if (id >= 0) gpu = id;
    }
    for (const auto& [name, figure] : source.figures)
      rows.push_back({{},
                      {},
                      gpu,
                      pci,
                      std::string(layer_name(layer)),
                      name,
                      figure.value,
                      figure.told ? ImportFile::Cell(*figure.told) : ImportFile::Cell()});
  }
  if (!devices.figures.insert(rows).second) return;
  for (std::vector<ImportFile::Cell>& row : rows) {
    row[1] = int64_t{facts.id().pid};
    file.add("wavetap_device_figure", std::move(row));
  }
}

}  // namespace wavetap::store
