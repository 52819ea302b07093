// Model: the published figures of one GPU, read from models/NAME.gpu.
//
// A model file is `key = value` lines; `#` starts a comment that names the public source of a
// figure. Every key is listed, with its unit and default, in docs/gpu-models.md and in the table of
// model.cc; an unknown key or a value out of range is an error that names file, line and key.
// Adding a GPU needs a file, no code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "amd/gfx_target.h"
#include "base/result.h"
#include "model/figures.h"

namespace wavetap::model {

// AMDGPU_VRAM_TYPE_*.
inline constexpr uint32_t kVramHbm = 6;
inline constexpr uint32_t kVramGddr6 = 9;

// How long an access takes; a range where sources or accesses differ.
struct Cycles {
  uint32_t least = 0;
  uint32_t most = 0;
};

// Plain values, freely copied. A model with `nodes` > 1 (a board with several dies) stands for that
// many GPUs of the topology, each with these figures, linked by xGMI.
struct Model {
  std::string name;  // of the file, without .gpu
  std::string text;  // the file itself: travels with the run directory
  amd::GfxTarget target;
  std::string marketing_name;
  std::string market;  // "consumer" or "datacenter"; decides nothing, shown by `gpu show`

  // PCI
  uint32_t device_id = 0;
  uint32_t revision = 0;
  uint32_t subsystem_vendor = 0x1002;
  uint32_t subsystem_device = 0;
  std::string vbios = "113-WAVETAP-000";
  uint32_t pcie_generation = 4;
  uint32_t pcie_lanes = 16;

  // Shader core
  uint32_t nodes = 1;
  uint32_t compute_units = 1;  // active ones of a node, over all XCCs
  uint32_t simds_per_cu = 2;
  uint32_t waves_per_simd = 16;
  uint32_t shader_engines = 1;  // of a node, over all XCCs
  uint32_t shader_arrays_per_engine = 1;
  uint32_t cus_per_shader_array = 1;  // the physical number, as the driver reports it
  uint32_t xccs = 1;
  uint32_t wave_size = 32;  // the preferred one
  uint32_t lds_kib = 64;    // per CU
  uint32_t gds_kib = 0;
  uint32_t scratch_slots_per_cu = 32;
  uint32_t global_wave_sync = 64;    // 0: no cooperative queues
  uint32_t engine_clock_mhz = 1000;  // peak, as the driver reports it
  uint32_t boost_clock_mhz = 0;      // at which the vendor quotes peaks; 0: engine_clock_mhz
  uint32_t render_backends = 16;

  // Caches, KiB; 0: absent
  uint32_t l1_vector_kib = 16;  // per CU
  uint32_t l1_instruction_kib = 32;
  uint32_t l1_scalar_kib = 16;
  uint32_t cus_per_scalar_cache = 2;  // CUs that share the instruction and the scalar cache
  uint32_t gl1_kib = 0;               // per shader array (RDNA)
  uint32_t l2_kib = 4096;             // per XCC
  uint32_t l3_kib = 0;                // Infinity Cache, per node
  uint32_t cache_line_bytes = 128;
  uint32_t l1_line_bytes = 0;      // of the vector L1 where it differs; 0: cache_line_bytes
  uint32_t l2_channels = 0;        // per XCC; 0: not published
  uint32_t l2_ways = 0;            // 0: not published
  uint32_t l1_ways = 0;            // of the vector L1; 0: not published
  uint32_t l2_sector_bytes = 0;    // what a read of the L2 asks for at most; 0: a line
  uint32_t fabric_read_bytes = 0;  // what the L2 asks memory for at most; 0: a line

  // Memory
  uint64_t vram_bytes = 0;  // of a node
  uint32_t vram_width_bits = 256;
  uint32_t memory_clock_mhz = 1000;
  uint32_t vram_transfers_per_clock = 0;  // 0: from the type
  uint32_t vram_type = kVramGddr6;
  std::string vram_vendor = "samsung";

  // Engines
  uint32_t sdma_engines = 2;
  uint32_t sdma_xgmi_engines = 0;
  uint32_t sdma_queues_per_engine = 8;
  uint32_t compute_queues = 24;

  // Firmware and features
  uint32_t mec_firmware = 100;
  uint32_t sdma_firmware = 50;
  uint32_t smc_firmware = 0;
  uint32_t drm_family = 0;  // AMDGPU_FAMILY_*; 0: from the target
  uint32_t external_revision = 0;
  bool sram_ecc = false;
  bool xgmi = false;

  // Sensors at rest, as rocm-smi prints them
  uint32_t power_cap_w = 0;
  uint32_t idle_power_w = 0;
  uint32_t idle_temperature_c = 40;

  // Ceilings that the figures above do not give; see peaks.h. GB and Gop: 10^9.
  std::map<Level, uint64_t> published_gb_s;  // keys `peak.LEVEL`
  std::map<Level, uint64_t> measured_gb_s;   // keys `measured.LEVEL`
  std::map<Rate, uint64_t> measured_gops;    // keys `measured.PIPE.PRECISION`
  std::string measured_source;
  std::map<Level, Cycles> latency;  // keys `latency.LEVEL`
  std::string latency_source;
  uint32_t latency_clock_mhz = 0;  // 0: engine_clock_mhz

  // Keys `fault.*` and `lie.*`: a model that misbehaves or misreports on purpose.
  std::map<std::string, std::string> quirks;

  uint32_t simd_count() const { return compute_units * simds_per_cu; }
  uint32_t shader_arrays() const { return shader_engines * shader_arrays_per_engine; }
  uint32_t book_clock_mhz() const {
    return boost_clock_mhz != 0 ? boost_clock_mhz : engine_clock_mhz;
  }
  uint32_t vector_line_bytes() const {
    return l1_line_bytes != 0 ? l1_line_bytes : cache_line_bytes;
  }
  // Bits per pin and memory clock.
  uint32_t vram_transfers() const {
    if (vram_transfers_per_clock != 0) return vram_transfers_per_clock;
    return vram_type == kVramGddr6 ? 16 : 2;
  }
  // The value of a `fault.*` or `lie.*` key; empty when the model has none.
  std::string_view quirk(const std::string& key) const;
  // The figures the driver reports: the true ones, but for every KEY that a `lie.KEY` replaces.
  Model as_reported() const;
  // drm_family when given, else AMDGPU_FAMILY_* of the target.
  uint32_t family() const;
};

// Parses the text of a model file. `name` is used in messages and kept as the model's name.
Result<Model> parse_model(std::string_view name, std::string_view text);

// Reads DIRECTORY/NAME.gpu, or the file itself when `name` contains a slash. A file whose first key
// is `base` continues the model of that name in the same folder.
Result<Model> load_model(const std::string& directory, const std::string& name);

// The names of the models in a directory, sorted.
std::vector<std::string> list_models(const std::string& directory);

// The models in a directory that describe a real product: none of those that misbehave on purpose,
// none that cannot be read.
std::vector<Model> sound_models(const std::string& directory);

}  // namespace wavetap::model
