// A GPU's PCI device directory with amdgpu's attributes, and the links DRM, PCI and char-device
// lookups start from.
//
// Readers: libdrm (uevent, vendor/device/revision, drm/ children, subsystem), rocm_smi 5.x to 7.x
// (clock tables, hwmon sensors, memory and utilisation figures, link state, firmware versions,
// ids), hwloc (vendor, class, local_cpus, found in the list of the bus). Values are those of an
// idle board; the clock tables name the model's lowest and highest level.
#include <cstdarg>
#include <cstdio>

#include "vgpu/topology.h"

namespace wavetap::vgpu {
namespace {

std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* text, ...) {
  char buffer[512];
  va_list args;
  va_start(args, text);
  std::vsnprintf(buffer, sizeof buffer, text, args);
  va_end(args);
  return buffer;
}

// A pp_dpm_* table: levels, one per line, the active one starred.
std::string clock_table(uint32_t low_mhz, uint32_t high_mhz) {
  return format("0: %uMhz *\n1: %uMhz\n2: %uMhz\n", low_mhz, (low_mhz + high_mhz) / 2, high_mhz);
}

const char* link_speed(uint32_t generation) {
  static constexpr const char* kSpeeds[] = {"",          "2.5 GT/s",  "5.0 GT/s", "8.0 GT/s",
                                            "16.0 GT/s", "32.0 GT/s", "64.0 GT/s"};
  return kSpeeds[generation];
}

void write_identity(TreeWriter& tree, const std::string& pci, const model::Model& m,
                    const GpuPlace& place) {
  tree.file(pci + "/uevent",
            format("DRIVER=amdgpu\nPCI_CLASS=%s\nPCI_ID=1002:%04X\nPCI_SUBSYS_ID=%04X:%04X\nPCI_"
                   "SLOT_NAME=%s\n",
                   m.render_backends != 0 ? "30000" : "38000", m.device_id, m.subsystem_vendor,
                   m.subsystem_device, place.pci_address().c_str()));
  tree.file(pci + "/vendor", "0x1002\n");
  tree.file(pci + "/device", format("0x%04x\n", m.device_id));
  tree.file(pci + "/subsystem_vendor", format("0x%04x\n", m.subsystem_vendor));
  tree.file(pci + "/subsystem_device", format("0x%04x\n", m.subsystem_device));
  tree.file(pci + "/revision", format("0x%02x\n", m.revision));
  tree.file(pci + "/class", m.render_backends != 0 ? "0x030000\n" : "0x038000\n");
  tree.file(pci + "/unique_id",
            format("%016llx\n", static_cast<unsigned long long>(place.unique_id)));
  tree.file(pci + "/vbios_version", m.vbios + "\n");
  tree.file(pci + "/product_name", m.marketing_name + "\n");
  tree.file(pci + "/product_number", format("%04X\n", m.device_id));
  tree.file(pci + "/serial_number",
            format("%llu\n", static_cast<unsigned long long>(place.unique_id)));
  tree.file(pci + "/numa_node", "0\n");
  tree.file(pci + "/local_cpulist", "0\n");
  tree.file(pci + "/local_cpus", "1\n");
  tree.file(pci + "/enable", "1\n");
  if (place.hive_id != 0) {
    tree.file(pci + "/xgmi_device_id",
              format("%llu\n", static_cast<unsigned long long>(place.unique_id)));
    tree.file(pci + "/xgmi_hive_info/xgmi_hive_id",
              format("%llu\n", static_cast<unsigned long long>(place.hive_id)));
    tree.file(pci + "/xgmi_error", "0x0\n");
  }
}

void write_clocks(TreeWriter& tree, const std::string& pci, const model::Model& m) {
  const uint32_t memory_low = m.vram_type == 6 ? m.memory_clock_mhz / 4 : 96;
  tree.file(pci + "/pp_dpm_sclk", clock_table(500, m.engine_clock_mhz));
  tree.file(pci + "/pp_dpm_mclk", clock_table(memory_low, m.memory_clock_mhz));
  tree.file(pci + "/pp_dpm_fclk", clock_table(550, 1940));
  tree.file(pci + "/pp_dpm_socclk", clock_table(480, 1200));
  tree.file(pci + "/pp_dpm_pcie",
            format("0: 2.5GT/s, x%u 310Mhz\n1: %.1fGT/s, x%u 619Mhz *\n", m.pcie_lanes,
                   m.pcie_generation >= 3 ? 8.0 * (1u << (m.pcie_generation - 3))
                                          : 2.5 * m.pcie_generation,
                   m.pcie_lanes));
  tree.file(pci + "/power_dpm_force_performance_level", "auto\n");
  tree.file(pci + "/power_dpm_state", "performance\n");
  tree.file(pci + "/pp_power_profile_mode",
            "PROFILE_INDEX(NAME) CLOCK_TYPE(NAME)\n 0 BOOTUP_DEFAULT*:\n 1 COMPUTE :\n");
  tree.file(pci + "/current_link_speed", format("%s PCIe\n", link_speed(m.pcie_generation)));
  tree.file(pci + "/max_link_speed", format("%s PCIe\n", link_speed(m.pcie_generation)));
  tree.file(pci + "/current_link_width", format("%u\n", m.pcie_lanes));
  tree.file(pci + "/max_link_width", format("%u\n", m.pcie_lanes));
  tree.file(pci + "/pcie_bw", "0 0 256\n");
  tree.file(pci + "/pcie_replay_count", "0\n");
}

void write_memory(TreeWriter& tree, const std::string& pci, const Config& config,
                  const model::Model& m) {
  const auto bytes = [&](const char* name, uint64_t value) {
    tree.file(pci + "/" + name, std::to_string(value) + "\n");
  };
  const uint64_t visible = config.small_bar ? 256ull << 20 : m.vram_bytes;
  bytes("mem_info_vram_total", m.vram_bytes);
  bytes("mem_info_vram_used", 11ull << 20);
  bytes("mem_info_vis_vram_total", visible);
  bytes("mem_info_vis_vram_used", 11ull << 20);
  bytes("mem_info_gtt_total", 16ull << 30);
  bytes("mem_info_gtt_used", 14ull << 20);
  bytes("gpu_busy_percent", 0);
  bytes("mem_busy_percent", 0);
  tree.file(pci + "/mem_info_vram_vendor", m.vram_vendor + "\n");
  tree.file(pci + "/thermal_throttling_logging",
            format("%s: thermal throttling logging enabled\n", m.name.c_str()));
  if (m.xccs > 1) {
    tree.file(pci + "/current_compute_partition", "SPX\n");
    tree.file(pci + "/available_compute_partition", "SPX, DPX, QPX, CPX\n");
    tree.file(pci + "/current_memory_partition", "NPS1\n");
  }
  if (m.sram_ecc) {
    tree.file(pci + "/ras/features", "feature mask: 0x3fff\n");
    const auto errors = [&](const char* key) {
      return m.quirk(key).empty() ? "0" : std::string(m.quirk(key));
    };
    tree.file(pci + "/ras/umc_err_count", "ue: " + errors("fault.ecc_uncorrected") +
                                              "\nce: " + errors("fault.ecc_corrected") + "\n");
    for (const char* block : {"gfx", "sdma", "mmhub"})
      tree.file(pci + "/ras/" + block + "_err_count", "ue: 0\nce: 0\n");
  }
}

void write_firmware(TreeWriter& tree, const std::string& pci, const model::Model& m) {
  const auto firmware = [&](const char* name, uint32_t version) {
    tree.file(pci + "/fw_version/" + name + "_fw_version", format("0x%08x\n", version));
  };
  firmware("mec", m.mec_firmware);
  firmware("mec2", m.mec_firmware);
  firmware("sdma", m.sdma_firmware);
  firmware("sdma2", m.sdma_firmware);
  firmware("smc", m.smc_firmware);
  for (const char* name : {"asd", "ce", "dmcu", "mc", "me", "pfp", "rlc", "rlc_srlc", "rlc_srlg",
                           "rlc_srls", "sos", "ta_ras", "ta_xgmi", "uvd", "vce", "vcn"})
    firmware(name, 0);
}

void write_sensors(TreeWriter& tree, const std::string& pci, const model::Model& m,
                   const GpuPlace& place) {
  const std::string hwmon = pci + "/hwmon/hwmon" + std::to_string(100 + place.index);
  const auto value = [&](const char* name, long long number) {
    tree.file(hwmon + "/" + name, format("%lld\n", number));
  };
  tree.file(hwmon + "/name", "amdgpu\n");
  static constexpr const char* kTemperatures[] = {"edge", "junction", "mem"};
  for (int i = 0; i < 3; ++i) {
    const std::string temp = "temp" + std::to_string(i + 1);
    tree.file(hwmon + "/" + temp + "_label", std::string(kTemperatures[i]) + "\n");
    value((temp + "_input").c_str(), (m.idle_temperature_c + 2 * i) * 1000LL);
    value((temp + "_crit").c_str(), 100000);
    value((temp + "_crit_hyst").c_str(), -273150);
    value((temp + "_emergency").c_str(), 105000);
  }
  value("power1_average", m.idle_power_w * 1000000LL);
  value("power1_cap", m.power_cap_w * 1000000LL);
  value("power1_cap_max", m.power_cap_w * 1000000LL);
  value("power1_cap_min", 0);
  value("power1_cap_default", m.power_cap_w * 1000000LL);
  tree.file(hwmon + "/power1_label", "PPT\n");
  value("in0_input", 793);
  tree.file(hwmon + "/in0_label", "vddgfx\n");
  value("freq1_input", 500 * 1000000LL);
  tree.file(hwmon + "/freq1_label", "sclk\n");
  value("freq2_input", m.memory_clock_mhz * 1000000LL);
  tree.file(hwmon + "/freq2_label", "mclk\n");
  if (m.market == "consumer") {
    value("fan1_input", 0);
    value("fan1_max", 3300);
    value("fan1_min", 0);
    value("fan1_enable", 0);
    value("pwm1", 0);
    value("pwm1_max", 255);
    value("pwm1_min", 0);
    value("pwm1_enable", 2);
  }
  tree.link(hwmon + "/device", "../../../" + place.pci_address());
}

// drm/cardN and drm/renderDN below the device, and everything that points at them.
void write_drm(TreeWriter& tree, const std::string& pci, const GpuPlace& place) {
  const std::string target = "devices/" + place.pci_directory();
  const struct {
    std::string name;
    uint32_t minor;
  } nodes[] = {{"card" + std::to_string(place.card_minor), place.card_minor},
               {"renderD" + std::to_string(place.render_minor), place.render_minor}};
  for (const auto& node : nodes) {
    const std::string directory = pci + "/drm/" + node.name;
    tree.file(directory + "/dev", format("226:%u\n", node.minor));
    tree.file(directory + "/uevent",
              format("MAJOR=226\nMINOR=%u\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n", node.minor,
                     node.name.c_str()));
    tree.link(directory + "/device", "../../../" + place.pci_address());
    tree.link(directory + "/subsystem", "../../../../../../../class/drm");
    tree.link("/sys/dev/char/226:" + std::to_string(node.minor),
              "../../" + target + "/drm/" + node.name);
    tree.link("/sys/class/drm/" + node.name, "../../" + target + "/drm/" + node.name);
    tree.file("/dev/dri/" + node.name, "");
    tree.link(
        "/dev/dri/by-path/pci-" + place.pci_address() + (node.minor < 128 ? "-card" : "-render"),
        "../" + node.name);
  }
}

}  // namespace

void write_device(TreeWriter& tree, const Config& config, const GpuPlace& place) {
  const model::Model m = config.models[place.model].as_reported();
  const std::string pci = "/sys/devices/" + place.pci_directory();
  write_identity(tree, pci, m, place);
  write_clocks(tree, pci, m);
  write_memory(tree, pci, config, m);
  write_firmware(tree, pci, m);
  write_sensors(tree, pci, m, place);
  write_drm(tree, pci, place);
  tree.link(pci + "/subsystem", "../../../../bus/pci");
  tree.link(pci + "/driver", "../../../../bus/pci/drivers/amdgpu");
  tree.directory("/sys/bus/pci/drivers/amdgpu");
  tree.link("/sys/bus/pci/devices/" + place.pci_address(),
            "../../../devices/" + place.pci_directory());
}

}  // namespace wavetap::vgpu
