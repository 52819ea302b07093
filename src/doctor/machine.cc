#include "doctor/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";

std::map<std::string, uint64_t> read_properties(const Root& root, const std::string& path) {
  std::map<std::string, uint64_t> properties;
  const ReadText text = root.read(path);
  if (!text.ok()) return properties;
  for (const std::string& line : lines_of(*text.text)) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string value = trimmed(line.substr(space + 1));
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size())
      properties[line.substr(0, space)] = number;
  }
  return properties;
}

std::optional<amd::GfxTarget> target_of_version(uint64_t version) {
  if (version == 0) return std::nullopt;
  return amd::GfxTarget{static_cast<uint8_t>(version / 10000),
                        static_cast<uint8_t>(version / 100 % 100),
                        static_cast<uint8_t>(version % 100)};
}

void read_memory(const Root& root, const std::string& node, Gpu& gpu) {
  for (const std::string& bank : root.list(node + "/mem_banks")) {
    auto properties = read_properties(root, node + "/mem_banks/" + bank + "/properties");
    // Heap types 1 and 2: VRAM the CPU reaches, and VRAM it does not.
    if (properties["heap_type"] == 1 || properties["heap_type"] == 2)
      gpu.vram_bytes += properties["size_in_bytes"];
  }
  for (const std::string& cache : root.list(node + "/caches")) {
    auto properties = read_properties(root, node + "/caches/" + cache + "/properties");
    if (properties["level"] == 2) gpu.l2_kib = static_cast<uint32_t>(properties["size"]);
  }
}

std::vector<Gpu> read_gpus(const Root& root, const std::vector<model::Model>& known) {
  std::vector<Gpu> gpus;
  for (const std::string& name : root.list(kNodes)) {
    const std::optional<uint64_t> number = util::parse_unsigned(name);
    if (!number) continue;
    const std::string node = std::string(kNodes) + "/" + name;
    Gpu gpu = gpu_of_properties(static_cast<uint32_t>(*number),
                                read_properties(root, node + "/properties"));
    if (gpu.property("simd_count") == 0) continue;  // a CPU
    gpu.properties_path = node + "/properties";
    gpu.gpu_id = static_cast<uint32_t>(root.number(node + "/gpu_id").value_or(0));
    if (const auto revision = root.number(gpu.pci_folder + "/revision"))
      gpu.revision = static_cast<uint32_t>(*revision);
    read_memory(root, node, gpu);
    match_known(known, gpu);
    gpus.push_back(std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.node < b.node; });
  return gpus;
}

std::vector<std::string> read_display_devices(const Root& root) {
  std::vector<std::string> found;
  for (const std::string& address : root.list("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    if (root.line(folder + "/vendor") != "0x1002") continue;
    const std::string device_class = root.line(folder + "/class").value_or("");
    // 0x03 display controllers, 0x12 processing accelerators (Instinct).
    if (device_class.starts_with("0x03") || device_class.starts_with("0x12"))
      found.push_back(address);
  }
  return found;
}

Identity read_identity(const Root& root) {
  Identity identity;
  const ReadText status = root.read("/proc/self/status");
  if (!status.ok()) return identity;
  for (const std::string& line : lines_of(*status.text)) {
    std::string text = line;
    std::replace(text.begin(), text.end(), '\t', ' ');
    const std::vector<std::string> words = util::split(text, ' ');
    std::vector<uint32_t> numbers;
    for (size_t i = 1; i < words.size(); ++i) {
      if (const auto number = util::parse_unsigned(words[i]))
        numbers.push_back(static_cast<uint32_t>(*number));
    }
    // Real, effective, saved, file system: the second decides.
    if (words[0] == "Uid:" && numbers.size() > 1) {
      identity.uid = numbers[1];
      identity.known = true;
    }
    if (words[0] == "Gid:" && numbers.size() > 1) identity.gids.push_back(numbers[1]);
    if (words[0] == "Groups:")
      identity.gids.insert(identity.gids.end(), numbers.begin(), numbers.end());
  }
  return identity;
}

std::map<uint32_t, std::string> read_groups(const Root& root) {
  std::map<uint32_t, std::string> names;
  const ReadText text = root.read("/etc/group");
  if (!text.ok()) return names;
  for (const std::string& line : lines_of(*text.text)) {
    const std::vector<std::string> fields = util::split(line, ':');
    if (fields.size() < 3) continue;
    if (const auto gid = util::parse_unsigned(fields[2]))
      names[static_cast<uint32_t>(*gid)] = fields[0];
  }
  return names;
}

void look_for_container(Machine& machine) {
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"}) {
    if (!machine.root.exists(mark)) continue;
    machine.in_container = true;
    machine.container_hint = mark;
    return;
  }
}

}  // namespace

Gpu gpu_of_properties(uint32_t node, std::map<std::string, uint64_t> properties) {
  Gpu gpu;
  gpu.node = node;
  gpu.properties = std::move(properties);
  gpu.target = target_of_version(gpu.property("gfx_target_version"));
  gpu.device_id = static_cast<uint32_t>(gpu.property("device_id"));
  const uint64_t location = gpu.property("location_id");
  gpu.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", gpu.property("domain"),
                                location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
  gpu.pci_folder = "/sys/bus/pci/devices/" + gpu.pci_address;
  return gpu;
}

void match_known(const std::vector<model::Model>& known, Gpu& gpu) {
  for (const model::Model& device : known) {
    if (device.device_id != gpu.device_id) continue;
    if (gpu.known == nullptr) gpu.known = &device;
    if (gpu.revision && *gpu.revision == device.revision) {
      gpu.known = &device;
      gpu.same_board = true;
      return;
    }
  }
}

uint32_t Gpu::compute_units() const {
  const uint64_t per_cu = property("simd_per_cu");
  return per_cu == 0 ? 0 : static_cast<uint32_t>(property("simd_count") / per_cu);
}

std::string Gpu::title() const {
  if (known != nullptr && same_board)
    return fmt::format("{} ({})", known->marketing_name, target_name());
  if (known != nullptr)
    return fmt::format("a relative of {} ({})", known->marketing_name, target_name());
  return fmt::format("AMD GPU 1002:{:04x} ({})", device_id, target_name());
}

bool Identity::has_group(uint32_t gid) const {
  return std::find(gids.begin(), gids.end(), gid) != gids.end();
}

Machine read_machine(Root root, std::vector<model::Model> known_devices) {
  Machine machine;
  machine.root = std::move(root);
  machine.known_devices = std::move(known_devices);
  machine.gpus = read_gpus(machine.root, machine.known_devices);
  machine.amd_display_devices = read_display_devices(machine.root);
  machine.environment = read_environment(machine.root);
  machine.identity = read_identity(machine.root);
  machine.group_names = read_groups(machine.root);
  look_for_container(machine);
  return machine;
}

std::optional<amd::GfxTarget> parse_override(std::string_view text) {
  // As the thunk does it: three numbers and nothing behind them.
  unsigned parts[3] = {};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
    if (i < 2 && (at == end || *at++ != '.')) return std::nullopt;
  }
  if (at != end || parts[0] > 63 || parts[1] > 255 || parts[2] > 255 || parts[0] == 0)
    return std::nullopt;
  return amd::GfxTarget{static_cast<uint8_t>(parts[0]), static_cast<uint8_t>(parts[1]),
                        static_cast<uint8_t>(parts[2])};
}

std::optional<Override> override_for(const Machine& machine, const Gpu& gpu) {
  const std::string of_node = fmt::format("HSA_OVERRIDE_GFX_VERSION_{}", gpu.node);
  for (const std::string& name : {of_node, std::string("HSA_OVERRIDE_GFX_VERSION")}) {
    if (const std::string* value = machine.variable(name))
      return Override{name, *value, parse_override(*value)};
  }
  return std::nullopt;
}

}  // namespace wavetap::doctor
