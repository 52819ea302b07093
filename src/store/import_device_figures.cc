// Layers number GPUs differently and show different ones; the place on the PCI bus tells which is
// which. HIP and CUDA leave out the function, which tells the partitions of one chip apart: those
// go in order.
#include <algorithm>
#include <map>
#include <optional>

#include "store/import_parts.h"

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

// Nothing is written when an earlier process was told exactly the same.
void import_device_figures(ImportContext& import) {
  if (import.facts.devices.empty()) return;
  const Sources sources = sources_of(import.facts);
  std::vector<FigureOfDevice> figures;
  for (const auto& [key, source] : sources) {
    const auto& [layer, number] = key;
    std::optional<int64_t> gpu;
    std::optional<std::string> pci;
    if (layer != DeviceLayer::kEnvironment) {
      pci = pci_address(source.bdf);
      const int64_t id =
          import.devices.id(agent_of(import.facts, sources, layer, number, source.bdf));
      if (id >= 0) gpu = id;
    }
    for (const auto& [name, figure] : source.figures)
      figures.push_back({gpu, pci, layer_name(layer), name, figure.value, figure.told});
  }
  if (!import.devices.are_new(figures)) return;
  for (const FigureOfDevice& figure : figures)
    import.writer.put(rows::DeviceFigure{.pid = import.pid(),
                                         .gpu = figure.gpu,
                                         .pci = figure.pci,
                                         .layer = figure.layer,
                                         .field = figure.field,
                                         .value = figure.value,
                                         .told = figure.told});
}

}  // namespace wavetap::store
