// Reading model files. The keys are one table: name, where the value goes, its limits; parsing,
// checking and the list in docs/gpu-models.md follow from it (model_test.cc checks that the
// document names every key).
#include "model/model.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/sys_files.h"

namespace wavetap::model {
namespace {

constexpr uint32_t kAnyU32 = 0xffffffffu;

struct NumberKey {
  const char* name;
  uint32_t Model::*field;
  uint32_t least;
  uint32_t most;
};

struct TextKey {
  const char* name;
  std::string Model::*field;
};

struct FlagKey {
  const char* name;
  bool Model::*field;
};

// clang-format off
constexpr NumberKey kNumbers[] = {
    {"pci.device_id",             &Model::device_id,                1, 0xffff},
    {"pci.revision",              &Model::revision,                 0, 0xff},
    {"pci.subsystem_vendor",      &Model::subsystem_vendor,         0, 0xffff},
    {"pci.subsystem_device",      &Model::subsystem_device,         0, 0xffff},
    {"pci.generation",            &Model::pcie_generation,          1, 6},
    {"pci.lanes",                 &Model::pcie_lanes,               1, 32},
    {"nodes",                     &Model::nodes,                    1, 8},
    {"compute_units",             &Model::compute_units,            1, 1024},
    {"simds_per_cu",              &Model::simds_per_cu,             1, 8},
    {"waves_per_simd",            &Model::waves_per_simd,           1, 64},
    {"shader_engines",            &Model::shader_engines,           1, 64},
    {"shader_arrays_per_engine",  &Model::shader_arrays_per_engine, 1, 4},
    {"cus_per_shader_array",      &Model::cus_per_shader_array,     1, 64},
    {"xccs",                      &Model::xccs,                     1, 16},
    {"wave_size",                 &Model::wave_size,                32, 64},
    {"lds_kib",                   &Model::lds_kib,                  1, 1024},
    {"gds_kib",                   &Model::gds_kib,                  0, 64},
    {"scratch_slots_per_cu",      &Model::scratch_slots_per_cu,     1, 64},
    {"global_wave_sync",          &Model::global_wave_sync,         0, 64},
    {"engine_clock_mhz",          &Model::engine_clock_mhz,         1, 10000},
    {"boost_clock_mhz",           &Model::boost_clock_mhz,          0, 10000},
    {"render_backends",           &Model::render_backends,          0, 1024},
    {"cache.l1_vector_kib",       &Model::l1_vector_kib,            1, 1024},
    {"cache.l1_instruction_kib",  &Model::l1_instruction_kib,       0, 1024},
    {"cache.l1_scalar_kib",       &Model::l1_scalar_kib,            0, 1024},
    {"cache.cus_per_scalar_cache", &Model::cus_per_scalar_cache,    1, 8},
    {"cache.gl1_kib",             &Model::gl1_kib,                  0, 4096},
    {"cache.l2_kib",              &Model::l2_kib,                   1, 1 << 20},
    {"cache.l3_kib",              &Model::l3_kib,                   0, 1 << 20},
    {"cache.line_bytes",          &Model::cache_line_bytes,         32, 256},
    {"cache.l1_line_bytes",       &Model::l1_line_bytes,            0, 256},
    {"cache.l2_channels",         &Model::l2_channels,              0, 1024},
    {"cache.l2_ways",             &Model::l2_ways,                  0, 1024},
    {"cache.l1_ways",             &Model::l1_ways,                  0, 1024},
    {"cache.l2_sector_bytes",     &Model::l2_sector_bytes,          0, 256},
    {"cache.fabric_read_bytes",   &Model::fabric_read_bytes,        0, 256},
    {"vram.width_bits",           &Model::vram_width_bits,          32, 16384},
    {"vram.clock_mhz",            &Model::memory_clock_mhz,         1, 10000},
    {"vram.transfers_per_clock",  &Model::vram_transfers_per_clock, 0, 64},
    {"vram.type",                 &Model::vram_type,                0, 32},
    {"sdma_engines",              &Model::sdma_engines,             0, 16},
    {"sdma_xgmi_engines",         &Model::sdma_xgmi_engines,        0, 16},
    {"sdma_queues_per_engine",    &Model::sdma_queues_per_engine,   1, 16},
    {"compute_queues",            &Model::compute_queues,           1, 128},
    {"firmware.mec",              &Model::mec_firmware,             0, kAnyU32},
    {"firmware.sdma",             &Model::sdma_firmware,            0, kAnyU32},
    {"firmware.smc",              &Model::smc_firmware,             0, kAnyU32},
    {"drm.family",                &Model::drm_family,               0, 0xff},
    {"drm.external_revision",     &Model::external_revision,        0, 0xff},
    {"power.cap_w",               &Model::power_cap_w,              0, 5000},
    {"power.idle_w",              &Model::idle_power_w,             0, 5000},
    {"temperature.idle_c",        &Model::idle_temperature_c,       0, 150},
    {"latency.clock_mhz",         &Model::latency_clock_mhz,        0, 10000},
};

constexpr TextKey kTexts[] = {
    {"marketing_name",  &Model::marketing_name},
    {"market",          &Model::market},
    {"vbios",           &Model::vbios},
    {"vram.vendor",     &Model::vram_vendor},
    {"measured.source", &Model::measured_source},
    {"latency.source",  &Model::latency_source},
};

constexpr FlagKey kFlags[] = {
    {"sram_ecc", &Model::sram_ecc},
    {"xgmi",     &Model::xgmi},
};
// clang-format on

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool parse_number(std::string_view text, uint64_t* value) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// `48` or `48-50`.
bool parse_cycles(std::string_view text, Cycles* cycles) {
  const size_t dash = text.find('-');
  uint64_t least = 0;
  uint64_t most = 0;
  if (!parse_number(text.substr(0, dash), &least)) return false;
  if (dash == std::string_view::npos) most = least;
  if (dash != std::string_view::npos && !parse_number(text.substr(dash + 1), &most)) return false;
  if (least == 0 || most < least || most > 100'000) return false;
  *cycles = {.least = static_cast<uint32_t>(least), .most = static_cast<uint32_t>(most)};
  return true;
}

constexpr char kNotAKey[] = "is not a key of a model";

// Keys whose last part names a level of memory or a pipe: `peak.`, `measured.`, `latency.`.
std::string set_figure(Model& model, std::string_view key, std::string_view value) {
  const size_t dot = key.find('.');
  const std::string_view table = key.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? "" : key.substr(dot + 1);
  const std::optional<Level> level = parse_level(name);
  if (table == "latency" && level)
    return parse_cycles(value, &model.latency[*level]) ? "" : "is not cycles such as 48 or 48-50";
  const std::optional<Rate> rate = table == "measured" ? parse_rate(name) : std::nullopt;
  if ((table != "peak" && table != "measured") || (!level && !rate)) return kNotAKey;
  uint64_t number = 0;
  if (!parse_number(value, &number) || number == 0 || number > 100'000'000)
    return "is not a number from 1 to 100000000";
  if (rate) {
    model.measured_gops[*rate] = number;
  } else {
    (table == "peak" ? model.published_gb_s : model.measured_gb_s)[*level] = number;
  }
  return {};
}

// One `key = value`. Empty on success, else what is wrong with it.
std::string set_key(Model& model, std::string_view key, std::string_view value) {
  if (key.starts_with("fault.") || key.starts_with("lie.")) {
    model.quirks[std::string(key)] = std::string(value);
    return {};
  }
  for (const TextKey& entry : kTexts) {
    if (key == entry.name) {
      model.*entry.field = std::string(value);
      return {};
    }
  }
  for (const FlagKey& entry : kFlags) {
    if (key != entry.name) continue;
    if (value != "yes" && value != "no") return "is neither yes nor no";
    model.*entry.field = value == "yes";
    return {};
  }
  if (key == "target") {
    const std::optional<amd::GfxTarget> target = amd::parse_gfx_target(value);
    if (!target) return "is not a gfx target such as gfx90a";
    model.target = *target;
    return {};
  }
  uint64_t number = 0;
  if (key == "vram.mib") {
    if (!parse_number(value, &number) || number < 16 || number > (1u << 24))
      return "is not 16 to 16777216";
    model.vram_bytes = number << 20;
    return {};
  }
  for (const NumberKey& entry : kNumbers) {
    if (key != entry.name) continue;
    if (!parse_number(value, &number) || number < entry.least || number > entry.most)
      return "is not a number from " + std::to_string(entry.least) + " to " +
             std::to_string(entry.most);
    model.*entry.field = static_cast<uint32_t>(number);
    return {};
  }
  return set_figure(model, key, value);
}

// The model named by a first line `base = NAME`, comments aside; empty when there is none.
std::string base_of(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    line = trim(line.substr(0, line.find('#')));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != "base") return {};
    return std::string(trim(line.substr(equals + 1)));
  }
  return {};
}

// The same lines, with the one that names the base turned into a comment.
std::string without_base(std::string_view text) {
  std::string own(text);
  const size_t at = own.starts_with("base") ? 0 : own.find("\nbase") + 1;
  own.insert(at, "# ");
  return own.ends_with('\n') ? own : own + "\n";
}

// What the figures must agree on for a runtime to accept the device. Empty when they do.
std::string inconsistency(const Model& m) {
  if (m.target.major == 0) return "has no `target`";
  if (m.device_id == 0) return "has no `pci.device_id`";
  if (m.vram_bytes == 0) return "has no `vram.mib`";
  if (m.marketing_name.empty()) return "has no `marketing_name`";
  if (m.wave_size != 32 && m.wave_size != 64) return "has a `wave_size` that is neither 32 nor 64";
  if (m.simd_count() < 4) return "has fewer than 4 SIMDs; runtimes divide their number by 4";
  if (m.shader_arrays() * m.cus_per_shader_array < m.compute_units)
    return "has more compute units than its shader arrays hold";
  if (m.compute_units % m.xccs != 0) return "has compute units that do not divide among its XCCs";
  if (m.shader_engines % m.xccs != 0) return "has shader engines that do not divide among its XCCs";
  if (m.measured_source.empty() && !(m.measured_gb_s.empty() && m.measured_gops.empty()))
    return "has measured figures and no `measured.source`";
  if (m.latency_source.empty() && !m.latency.empty())
    return "has latencies and no `latency.source`";
  return {};
}

}  // namespace

uint32_t Model::family() const {
  if (drm_family != 0) return drm_family;
  if (target.major == 9) return 141;                             // AMDGPU_FAMILY_AI
  if (target.major == 10) return 143;                            // AMDGPU_FAMILY_NV
  if (target.major == 11) return target.minor == 5 ? 150 : 145;  // GC_11_5_0, GC_11_0_0
  return 152;                                                    // GC_12_0_0
}

std::string_view Model::quirk(const std::string& key) const {
  const auto found = quirks.find(key);
  return found == quirks.end() ? std::string_view() : std::string_view(found->second);
}

Model Model::as_reported() const {
  Model reported = *this;
  for (const auto& [key, value] : quirks) {
    // Keys such as lie.environment name no figure; set_key() leaves the model as it is then.
    if (key.starts_with("lie.")) (void)set_key(reported, std::string_view(key).substr(4), value);
  }
  return reported;
}

Result<Model> parse_model(std::string_view name, std::string_view text) {
  Model model;
  model.name = std::string(name);
  model.text = std::string(text);
  int line_number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return errorf("%s.gpu:%d: no `=` in `%.*s`; write `key = value`", model.name.c_str(),
                    line_number, static_cast<int>(line.size()), line.data());
    const std::string_view key = trim(line.substr(0, equals));
    const std::string_view value = trim(line.substr(equals + 1));
    const std::string problem = set_key(model, key, value);
    if (!problem.empty())
      return errorf("%s.gpu:%d: `%.*s` %s; see docs/gpu-models.md", model.name.c_str(), line_number,
                    static_cast<int>(line.size()), line.data(), problem.c_str());
  }
  const std::string problem = inconsistency(model);
  if (!problem.empty()) return errorf("%s.gpu: the model %s", model.name.c_str(), problem.c_str());
  return model;
}

Result<Model> load_model(const std::string& directory, const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  const std::string path = is_path ? name : directory + "/" + name + ".gpu";
  const std::optional<std::string> text = sys::read_file(path);
  if (!text) {
    std::string known;
    for (const std::string& model : list_models(directory))
      known += (known.empty() ? "" : ", ") + model;
    return errorf("%s: no such GPU model; known: %s", name.c_str(), known.c_str());
  }
  std::string short_name = path.substr(path.rfind('/') + 1);
  if (short_name.ends_with(".gpu")) short_name.resize(short_name.size() - 4);
  const std::string base = base_of(*text);
  if (base.empty()) return parse_model(short_name, *text);
  const std::string folder = path.substr(0, path.rfind('/'));
  const std::optional<std::string> base_text = sys::read_file(folder + "/" + base + ".gpu");
  if (!base_text || !base_of(*base_text).empty() || base.find('/') != std::string::npos)
    return errorf("%s.gpu: `base = %s` is not a complete model in %s", short_name.c_str(),
                  base.c_str(), folder.c_str());
  // The file stays first, so that line numbers in messages are its own; its keys must win, so they
  // come again.
  const std::string own = without_base(*text);
  return parse_model(short_name, own + *base_text + "\n" + own);
}

std::vector<std::string> list_models(const std::string& directory) {
  std::vector<std::string> names;
  for (std::string name : sys::list_directory(directory)) {
    if (!name.ends_with(".gpu")) continue;
    name.resize(name.size() - 4);
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<Model> sound_models(const std::string& directory) {
  std::vector<Model> models;
  for (const std::string& name : list_models(directory)) {
    Result<Model> model = load_model(directory, name);
    if (model.ok() && model->quirks.empty()) models.push_back(std::move(*model));
  }
  return models;
}

}  // namespace wavetap::model
