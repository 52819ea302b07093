// KFD's topology in sysfs: node 0 is the CPU, nodes 1..N are the GPUs.
//
// What the readers (libhsakmt's topology.c, rocm-smi, rocm_agent_enumerator, rocprofiler) insist
// on:
//   - nodes/ holds directories 0..N-1 and nothing else; generation_id does not change;
//   - every node has at least one cache entry, or ROCr asserts; a CPU node without one makes the
//     thunk walk the host's cpu*/cache, which virtual machines often lack;
//   - CPU -> GPU links exist only with a large BAR: they mean "the CPU may touch VRAM", and ROCclr
//     then copies small buffers with memcpy;
//   - without p2p_links_count the thunk invents GPU <-> GPU links; ours are stated, PCIe through
//     the CPU or xGMI between the dies of one package;
//   - local_mem_size is 0 on discrete GPUs, VRAM is a memory bank of heap type 1 (public) or 2.
#include "vgpu/topology.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/sys_files.h"
#include "vgpu/host_memory.h"

namespace wavetap::vgpu {
namespace {

constexpr char kTopology[] = "/sys/devices/virtual/kfd/kfd/topology";

// io_link types and flags, as in the kernel's kfd_crat.h.
constexpr uint32_t kLinkPcie = 2;
constexpr uint32_t kLinkXgmi = 11;
constexpr uint32_t kLinkEnabled = 1;
constexpr uint32_t kWeightPcie = 20;
constexpr uint32_t kWeightXgmi = 15;

// HSA_CACHE_TYPE_*
constexpr uint32_t kCacheData = 1;
constexpr uint32_t kCacheInstruction = 2;
constexpr uint32_t kCacheCpu = 4;
constexpr uint32_t kCacheGpu = 8;

// Bits of a node's `capability`.
constexpr uint32_t kCapWatchPoints = 1u << 7;
constexpr uint32_t kCapWatchPointBits = 2u << 8;  // log2 of four
constexpr uint32_t kCapDoorbell64 = 2u << 12;
constexpr uint32_t kCapSramEcc = 1u << 26;
constexpr uint32_t kCapSvm = 1u << 27;
// Firmware that reports exceptions through the driver (RUNTIME_ENABLE). Without it ROCr 6.4 and later cannot be
// initialised a second time.
constexpr uint32_t kCapDebugFirmware = 1u << 29;

// `key value` lines.
class Properties {
 public:
  Properties& add(const char* key, uint64_t value) {
    text_ += key;
    text_ += ' ';
    text_ += std::to_string(value);
    text_ += '\n';
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string node_path(uint32_t node) {
  return std::string(kTopology) + "/nodes/" + std::to_string(node);
}

struct Link {
  uint32_t to = 0;
  uint32_t type = kLinkPcie;
  uint32_t weight = kWeightPcie;
  uint64_t bandwidth_mbytes = 0;
};

void write_links(TreeWriter& tree, const char* kind, uint32_t from,
                 const std::vector<Link>& links) {
  tree.directory(node_path(from) + "/" + kind);
  for (size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    Properties p;
    p.add("type", link.type).add("version_major", 0).add("version_minor", 0);
    p.add("node_from", from).add("node_to", link.to).add("weight", link.weight);
    p.add("min_latency", 0).add("max_latency", 0);
    p.add("min_bandwidth", link.bandwidth_mbytes).add("max_bandwidth", link.bandwidth_mbytes);
    p.add("recommended_transfer_size", 0)
        .add("recommended_sdma_engine_id_mask", 0)
        .add("flags", kLinkEnabled);
    tree.file(node_path(from) + "/" + kind + "/" + std::to_string(i) + "/properties", p.text());
  }
}

struct Cache {
  uint32_t level;
  uint32_t kib;
  uint32_t type;
  uint32_t sharers;  // CUs behind one instance
  uint32_t line_bytes;
};

void write_caches(TreeWriter& tree, uint32_t node, const std::vector<Cache>& caches) {
  for (size_t i = 0; i < caches.size(); ++i) {
    const Cache& cache = caches[i];
    Properties p;
    p.add("processor_id_low", 0).add("level", cache.level).add("size", cache.kib);
    p.add("cache_line_size", cache.line_bytes).add("cache_lines_per_tag", 1).add("association", 0);
    p.add("latency", 0).add("type", cache.type);
    std::string siblings = "sibling_map ";
    for (uint32_t cu = 0; cu < cache.sharers; ++cu) siblings += cu == 0 ? "1" : ",1";
    tree.file(node_path(node) + "/caches/" + std::to_string(i) + "/properties",
              p.text() + siblings + "\n");
  }
}

// One entry per kind of cache, with the number of CUs that share an instance, in the driver's
// order: runtimes that know one size per level take the first of it, which is the vector cache.
std::vector<Cache> caches_of(const model::Model& m) {
  const uint32_t line = m.cache_line_bytes;
  std::vector<Cache> caches = {{1, m.l1_vector_kib, kCacheData | kCacheGpu, 1, line}};
  if (m.l1_instruction_kib != 0)
    caches.push_back(
        {1, m.l1_instruction_kib, kCacheInstruction | kCacheGpu, m.cus_per_scalar_cache, 64});
  if (m.l1_scalar_kib != 0)
    caches.push_back({1, m.l1_scalar_kib, kCacheData | kCacheGpu, m.cus_per_scalar_cache, 64});
  caches.push_back({2, m.l2_kib, kCacheData | kCacheGpu, m.compute_units / m.xccs, line});
  if (m.l3_kib != 0) caches.push_back({3, m.l3_kib, kCacheData | kCacheGpu, m.compute_units, 64});
  return caches;
}

void write_cpu_node(TreeWriter& tree, const Config& config, const std::vector<GpuPlace>& places) {
  const std::vector<Cache> caches = {{1, 64, kCacheData | kCacheCpu, 1, 64}};
  std::vector<Link> links;
  if (!config.small_bar)
    for (const GpuPlace& place : places) links.push_back({place.node});

  Properties p;
  p.add("cpu_cores_count", static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  p.add("simd_count", 0).add("mem_banks_count", 1).add("caches_count", caches.size());
  p.add("io_links_count", links.size()).add("p2p_links_count", 0);
  for (const char* key : {"cpu_core_id_base",
                          "simd_id_base",
                          "max_waves_per_simd",
                          "lds_size_in_kb",
                          "gds_size_in_kb",
                          "num_gws",
                          "wave_front_size",
                          "array_count",
                          "simd_arrays_per_engine",
                          "cu_per_simd_array",
                          "simd_per_cu",
                          "max_slots_scratch_cu",
                          "gfx_target_version",
                          "vendor_id",
                          "device_id",
                          "location_id",
                          "domain",
                          "drm_render_minor",
                          "hive_id",
                          "num_sdma_engines",
                          "num_sdma_xgmi_engines",
                          "num_sdma_queues_per_engine",
                          "num_cp_queues"})
    p.add(key, 0);
  p.add("max_engine_clk_ccompute", 2000);

  const std::string node = node_path(0);
  tree.file(node + "/properties", p.text());
  tree.file(node + "/gpu_id", "0\n");
  tree.file(node + "/name", "\n");
  Properties bank;
  bank.add("heap_type", 0)
      .add("size_in_bytes", host_memory_bytes())
      .add("flags", 0)
      .add("width", 64);
  bank.add("mem_clk_max", 1600);
  tree.file(node + "/mem_banks/0/properties", bank.text());
  write_caches(tree, 0, caches);
  write_links(tree, "io_links", 0, links);
  tree.directory(node + "/p2p_links");
}

// MB/s in one direction.
uint64_t pcie_bandwidth(const model::Model& m) {
  static constexpr uint64_t kPerLane[] = {0, 250, 500, 985, 1969, 3938, 7563};
  return kPerLane[m.pcie_generation] * m.pcie_lanes;
}

void write_gpu_node(TreeWriter& tree, const Config& config, const std::vector<GpuPlace>& places,
                    const GpuPlace& place) {
  const model::Model m = config.models[place.model].as_reported();
  const std::vector<Cache> caches = caches_of(m);
  std::vector<Link> links = {{0, kLinkPcie, kWeightPcie, pcie_bandwidth(m)}};
  std::vector<Link> peers;
  for (const GpuPlace& other : places) {
    if (other.node == place.node) continue;
    if (place.hive_id != 0 && other.hive_id == place.hive_id)
      links.push_back({other.node, kLinkXgmi, kWeightXgmi, 200'000});  // four links of 50 GB/s
    else if (!config.small_bar) peers.push_back({other.node, kLinkPcie, 2 * kWeightPcie, 0});
  }

  uint32_t capability = kCapDoorbell64 | kCapWatchPoints | kCapWatchPointBits | kCapDebugFirmware;
  if (m.sram_ecc) capability |= kCapSramEcc;
  if (config.svm) capability |= kCapSvm;

  Properties p;
  p.add("cpu_cores_count", 0).add("simd_count", m.simd_count()).add("mem_banks_count", 1);
  p.add("caches_count", caches.size())
      .add("io_links_count", links.size())
      .add("p2p_links_count", peers.size());
  p.add("cpu_core_id_base", 0).add("simd_id_base", 0x80001000u + 0x1000u * place.index);
  p.add("max_waves_per_simd", m.waves_per_simd)
      .add("lds_size_in_kb", m.lds_kib)
      .add("gds_size_in_kb", m.gds_kib);
  p.add("num_gws", m.global_wave_sync).add("wave_front_size", m.wave_size);
  p.add("array_count", m.shader_arrays()).add("simd_arrays_per_engine", m.shader_arrays_per_engine);
  p.add("cu_per_simd_array", m.cus_per_shader_array).add("simd_per_cu", m.simds_per_cu);
  p.add("max_slots_scratch_cu", m.scratch_slots_per_cu);
  p.add("gfx_target_version", amd::kfd_version(m.target));
  p.add("vendor_id", 0x1002)
      .add("device_id", m.device_id)
      .add("location_id", place.pci_bus << 8)
      .add("domain", 0);
  p.add("drm_render_minor", place.render_minor).add("hive_id", place.hive_id);
  p.add("num_sdma_engines", m.sdma_engines).add("num_sdma_xgmi_engines", m.sdma_xgmi_engines);
  p.add("num_sdma_queues_per_engine", m.sdma_queues_per_engine)
      .add("num_cp_queues", m.compute_queues);
  p.add("max_engine_clk_fcompute", m.engine_clock_mhz).add("local_mem_size", 0);
  p.add("fw_version", m.mec_firmware).add("capability", capability).add("debug_prop", 0);
  p.add("sdma_fw_version", m.sdma_firmware)
      .add("unique_id", place.unique_id)
      .add("num_xcc", m.xccs);
  p.add("max_engine_clk_ccompute", 2000);

  const std::string node = node_path(place.node);
  tree.file(node + "/properties", p.text());
  tree.file(node + "/gpu_id", std::to_string(place.gpu_id) + "\n");
  tree.file(node + "/name", amd::to_string(m.target) + "\n");
  Properties bank;
  bank.add("heap_type", config.small_bar ? 2 : 1)
      .add("size_in_bytes", m.vram_bytes)
      .add("flags", 0);
  bank.add("width", m.vram_width_bits).add("mem_clk_max", m.memory_clock_mhz);
  tree.file(node + "/mem_banks/0/properties", bank.text());
  write_caches(tree, place.node, caches);
  write_links(tree, "io_links", place.node, links);
  write_links(tree, "p2p_links", place.node, peers);
}

// Who lists the bus finds the host's devices beside ours.
void link_host_devices(TreeWriter& tree, const std::vector<GpuPlace>& places) {
  const std::string bus = "/sys/bus/pci/devices/";
  for (const std::string& name : sys::list_directory(bus)) {
    const bool taken = std::any_of(places.begin(), places.end(), [&](const GpuPlace& place) {
      return place.pci_address() == name;
    });
    if (!taken) tree.link(bus + name, bus + name);  // absolute: the host's own link
  }
}

}  // namespace

void TreeWriter::note(const std::string& path, int error) {
  if (error == 0 || error_ != 0) return;
  error_ = error;
  failed_path_ = path;
}

void TreeWriter::file(const std::string& path, std::string_view content) {
  if (error_ == 0) note(path, sys::write_file(root_ + path, content));
}

void TreeWriter::link(const std::string& path, const std::string& target) {
  if (error_ == 0) note(path, sys::make_symlink(target, root_ + path));
}

void TreeWriter::directory(const std::string& path) {
  if (error_ == 0) note(path, sys::make_directories(root_ + path));
}

Status TreeWriter::status() const {
  if (error_ == 0) return {};
  return errorf("%s%s: cannot create: %s", root_.c_str(), failed_path_.c_str(),
                std::strerror(error_));
}

Status write_tree(const std::string& root, const Config& config) {
  const std::vector<GpuPlace> places = place_gpus(config);
  TreeWriter tree(root);

  tree.file(std::string(kTopology) + "/generation_id", "2\n");
  tree.file(std::string(kTopology) + "/system_properties",
            "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
  write_cpu_node(tree, config, places);
  for (const GpuPlace& place : places) write_gpu_node(tree, config, places, place);
  tree.file("/sys/devices/virtual/kfd/kfd/dev", "511:0\n");
  tree.file("/sys/devices/virtual/kfd/kfd/uevent", "MAJOR=511\nMINOR=0\nDEVNAME=kfd\n");
  tree.directory("/sys/devices/virtual/kfd/kfd/proc");
  tree.link("/sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
  tree.file("/dev/kfd", "");

  tree.file("/sys/class/drm/version", "drm 1.1.0 20060810\n");
  for (const GpuPlace& place : places) write_device(tree, config, place);
  link_host_devices(tree, places);

  tree.file("/sys/module/amdgpu/initstate", "live\n");
  tree.file("/sys/module/amdgpu/version", "6.8.5\n");
  tree.file("/sys/module/amdgpu/refcnt", "1\n");
  tree.file("/sys/module/amdgpu/srcversion", "5C0E1D6B1F8A7A7E1A2B3C4\n");
  tree.file("/sys/module/amdgpu/parameters/noretry", "-1\n");
  // The host's modules, and the driver they lack.
  tree.file("/proc/modules", "amdgpu 12345344 1 - Live 0x0000000000000000\n" +
                                 sys::read_file("/proc/modules").value_or(""));
  return tree.status();
}

}  // namespace wavetap::vgpu
