// Machine: everything several checks need, read once. Checks read the rest through `root`
// themselves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amd/gfx_target.h"
#include "doctor/rocm_environment.h"
#include "doctor/root.h"
#include "model/model.h"

namespace wavetap::doctor {

// One GPU node of the driver's topology.
struct Gpu {
  uint32_t node = 0;
  uint32_t gpu_id = 0;
  std::map<std::string, uint64_t> properties;  // nodes/N/properties
  std::string properties_path;
  std::optional<amd::GfxTarget> target;  // gfx_target_version, which no variable changes
  uint32_t device_id = 0;
  std::optional<uint32_t> revision;
  std::string pci_address;  // 0000:03:00.0
  std::string pci_folder;   // /sys/bus/pci/devices/0000:03:00.0
  uint64_t vram_bytes = 0;
  uint32_t l2_kib = 0;
  const model::Model* known = nullptr;  // same chip; null when no model describes it
  bool same_board = false;              // and the same product: all figures must agree

  uint64_t property(const std::string& key) const {
    const auto found = properties.find(key);
    return found == properties.end() ? 0 : found->second;
  }
  uint32_t compute_units() const;
  bool is_wgp_machine() const { return target && target->major >= 10; }
  std::string target_name() const { return target ? amd::to_string(*target) : "unknown target"; }
  // "AMD Radeon RX 6800 XT (gfx1030)".
  std::string title() const;
};

// A GPU by what the driver says of it: `properties` are those of its node.
Gpu gpu_of_properties(uint32_t node, std::map<std::string, uint64_t> properties);
// Finds it among the models, by PCI id and revision. The list must outlive the GPU.
void match_known(const std::vector<model::Model>& known, Gpu& gpu);

// Who asks: the process the doctor runs as, or the one whose /proc/self was copied.
struct Identity {
  bool known = false;
  uint32_t uid = 0;
  std::vector<uint32_t> gids;
  bool has_group(uint32_t gid) const;
};

struct Machine {
  Root root;
  std::vector<model::Model> known_devices;  // model::sound_models()
  std::vector<Gpu> gpus;
  // PCI addresses of AMD display controllers, driver or not.
  std::vector<std::string> amd_display_devices;
  Environment environment;
  Identity identity;
  std::map<uint32_t, std::string> group_names;
  bool in_container = false;
  std::string container_hint;  // the file that says so

  // The value in force, or nothing.
  const std::string* variable(std::string_view name) const { return environment.value(name); }
};

// Never fails: what cannot be read is empty, and the checks say so.
Machine read_machine(Root root, std::vector<model::Model> known_devices);

// The target HSA_OVERRIDE_GFX_VERSION[_node] makes the runtime believe, if any. "10.3.0" ->
// gfx1030.
std::optional<amd::GfxTarget> parse_override(std::string_view text);
struct Override {
  std::string variable;
  std::string value;
  std::optional<amd::GfxTarget> target;  // nothing: malformed
};
std::optional<Override> override_for(const Machine& machine, const Gpu& gpu);

}  // namespace wavetap::doctor
