#include "vgpu/config.h"

#include <charconv>
#include <cstdio>

namespace wavetap::vgpu {
namespace {

// The root port and first bus of the virtual GPUs: buses that neither AMD's nor Intel's servers
// give to root complexes, so that the host's own devices stay visible.
constexpr uint32_t kRootBus = 0xd1;
constexpr uint32_t kFirstGpuBus = 0xd3;
constexpr uint32_t kFirstRenderMinor = 128;

constexpr DriverOption kDriverOptions[] = {
    {"small-bar", "the CPU reaches no VRAM", &Config::small_bar},
    {"strict-cpu-access", "on unless =0: VRAM hidden from the CPU stays so",
     &Config::strict_cpu_access},
    {"svm", "shared virtual memory works", &Config::svm},
    {"low-va", "GPU addresses below 2^47, as on x86-64", &Config::low_va},
    {"guard-allocations", "allocations far apart, freed addresses never used again",
     &Config::guard_allocations},
    {"keep-compiled",
     "on unless =0: what AMD's compiler library makes of HIP's own kernels is kept",
     &Config::keep_compiled},
    {"kfd-minor", "version 1.N of the driver interface", &Config::kfd_minor},
};

bool parse(const std::string& text, uint32_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// FNV-1a: gives each GPU stable, different-looking numbers.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::span<const DriverOption> driver_options() { return kDriverOptions; }

Status set_driver_option(Config& config, const std::string& text) {
  const size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  uint32_t value = 1;
  const bool good = equals == std::string::npos || parse(text.substr(equals + 1), &value);
  std::string known;
  for (const DriverOption& option : kDriverOptions) {
    known += known.empty() ? "" : ", ";
    known += option.name;
    if (key != option.name) continue;
    if (const auto* flag = std::get_if<bool Config::*>(&option.field)) {
      if (!good || value > 1)
        return errorf("--gpu-option %s: not a switch; write %s=0 or %s=1", text.c_str(),
                      key.c_str(), key.c_str());
      config.*(*flag) = value == 1;
    } else {
      if (!good)
        return errorf("--gpu-option %s: not a number; write %s=N", text.c_str(), key.c_str());
      config.**std::get_if<uint32_t Config::*>(&option.field) = value;
    }
    return {};
  }
  return errorf("--gpu-option %s: unknown; use one of %s", key.c_str(), known.c_str());
}

std::string GpuPlace::pci_address() const {
  char text[32];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", pci_bus);
  return text;
}

std::string GpuPlace::pci_directory() const {
  char text[96];
  std::snprintf(text, sizeof text, "pci0000:%02x/0000:%02x:%02x.0/%s", kRootBus, kRootBus,
                index + 1, pci_address().c_str());
  return text;
}

std::vector<GpuPlace> place_gpus(const Config& config) {
  std::vector<GpuPlace> places;
  for (uint32_t m = 0; m < config.models.size(); ++m) {
    const model::Model& model = config.models[m];
    const std::string label = model.name + "#" + std::to_string(m);
    const uint64_t hive = model.nodes > 1 ? hash_of(label + "/hive") | 1 : 0;
    for (uint32_t die = 0; die < model.nodes && places.size() < kMaxGpus; ++die) {
      GpuPlace place;
      place.model = m;
      place.die = die;
      place.index = static_cast<uint32_t>(places.size());
      place.node = place.index + 1;
      place.card_minor = place.index;
      place.render_minor = kFirstRenderMinor + place.index;
      place.pci_bus = kFirstGpuBus + place.index;
      place.unique_id = hash_of(label + "/" + std::to_string(die));
      place.hive_id = hive;
      // 16 bits, as the driver's own hash; distinct in the low digit whatever the hash says.
      place.gpu_id =
          (static_cast<uint32_t>(place.unique_id >> 16) & 0xfff0u) | 0x1000u | place.index;
      places.push_back(place);
    }
  }
  return places;
}

Status validate(const Config& config) {
  if (config.models.empty()) return errorf("--gpu: no model given; try `wavetap gpu list`");
  uint32_t gpus = 0;
  for (const model::Model& model : config.models) gpus += model.nodes;
  if (gpus > kMaxGpus) return errorf("--gpu: %u GPUs; at most %u are supported", gpus, kMaxGpus);
  if (config.kfd_minor < 1) return errorf("kfd_minor: 0; the driver interface starts at 1.1");
  return {};
}

}  // namespace wavetap::vgpu
