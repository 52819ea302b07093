#include "vgpu/run_directory.h"

#include <sys/file.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/sys_files.h"
#include "vgpu/topology.h"

namespace wavetap::vgpu {
namespace {

// The scalar fields of Config, once: key and where it lives.
template <class Visitor>
void for_each_option(Visitor&& visit, Config& c) {
  visit("seed", c.seed);
  visit("threads", c.threads);
  visit("watchdog", c.watchdog_instructions);
  visit("jit_library", c.jit_library);
  visit("jit_verify", c.jit_verify);
  visit("jit_cache", c.jit_cache);
  visit("compile_cache", c.compile_cache);
  visit("keep_compiled", c.keep_compiled);
  visit("counters", c.counters_file);
  visit("cache_counters", c.cache_counters);
  visit("warm_caches", c.warm_caches);
  visit("findings", c.findings_file);
  visit("sanitize_tools", c.sanitize_tools);
  visit("sanitize_kernels", c.sanitize_kernels);
  visit("sanitize_launches", c.sanitize_launches);
  visit("capture_dir", c.capture_dir);
  visit("capture_pattern", c.capture_pattern);
  visit("capture_launches", c.capture_launches);
  visit("capture_every", c.capture_every);
  visit("capture_max", c.capture_max);
  visit("capture_drain_s", c.capture_drain_s);
  visit("capture_range", c.capture_range);
  visit("probe_dir", c.probe_dir);
  visit("probe_handlers", c.probe_handlers);
  visit("probe_kernels", c.probe_kernels);
  visit("probe_libraries", c.probe_libraries);
  visit("probe_not_libraries", c.probe_not_libraries);
  visit("probe_launches", c.probe_launches);
  visit("probe_every", c.probe_every);
  visit("probe_max", c.probe_max);
  visit("wave_sync", c.wave_sync);
  visit("small_bar", c.small_bar);
  visit("strict_cpu_access", c.strict_cpu_access);
  visit("svm", c.svm);
  visit("low_va", c.low_va);
  visit("guard_allocations", c.guard_allocations);
  visit("kfd_minor", c.kfd_minor);
}

std::string to_text(const std::string& value) { return value; }
std::string to_text(bool value) { return value ? "1" : "0"; }
std::string to_text(uint32_t value) { return std::to_string(value); }
std::string to_text(uint64_t value) { return std::to_string(value); }

bool from_text(const std::string& text, std::string& value) {
  value = text;
  return true;
}
bool from_text(const std::string& text, bool& value) {
  value = text == "1";
  return text == "1" || text == "0";
}
template <class T>
bool from_text(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Status write_run_dir(const std::string& dir, const Config& config) {
  Status status = validate(config);
  if (!status.ok()) return status;

  std::string text = "version = " + std::to_string(kRunDirVersion) + "\n";
  for (const model::Model& model : config.models) text += "gpu = " + model.name + "\n";
  Config copy = config;
  for_each_option([&](const char* key,
                      auto& value) { text += std::string(key) + " = " + to_text(value) + "\n"; },
                  copy);

  for (size_t i = 0; i < config.models.size(); ++i) {
    const int error = sys::write_file(dir + "/models/" + std::to_string(i), config.models[i].text);
    if (error != 0) return errorf("%s: cannot write: %s", dir.c_str(), std::strerror(error));
  }
  status = write_tree(dir + "/fs", config);
  if (!status.ok()) return status;
  // Last: a directory with `config` is complete.
  const int error = sys::write_file(dir + "/config", text);
  if (error != 0) return errorf("%s: cannot write: %s", dir.c_str(), std::strerror(error));
  return {};
}

void remove_run_dir(const std::string& dir) { sys::remove_tree(dir); }

int hold_run_dir(const std::string& dir) {
  const int fd = sys::open((dir + "/in-use").c_str(), O_RDONLY | O_CREAT, 0600);
  if (fd < 0) return fd;
  const int64_t locked = sys::call(SYS_flock, fd, LOCK_SH | LOCK_NB);
  if (locked == 0) return fd;
  sys::close(fd);
  return static_cast<int>(locked);
}

bool is_run_dir_held(const std::string& dir) {
  const int fd = sys::open((dir + "/in-use").c_str(), O_RDONLY);
  if (fd < 0) return false;
  const bool free = sys::call(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0;
  sys::close(fd);
  return !free;
}

Result<Config> read_run_dir(const std::string& dir) {
  const std::optional<std::string> text = sys::read_file(dir + "/config");
  if (!text)
    return errorf("%s: not a run directory; start the program with `wavetap run --gpu`",
                  dir.c_str());
  Config config;
  uint32_t version = 0;
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    const std::string line = text->substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = line.find(" = ");
    if (equals == std::string::npos)
      return errorf("%s/config: bad line `%s`", dir.c_str(), line.c_str());
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 3);
    bool known = true;
    bool good = true;
    if (key == "version") {
      good = from_text(value, version);
    } else if (key == "gpu") {
      names.push_back(value);
    } else {
      known = false;
      for_each_option(
          [&](const char* name, auto& field) {
            if (key != name) return;
            known = true;
            good = from_text(value, field);
          },
          config);
    }
    if (!known || !good) return errorf("%s/config: bad line `%s`", dir.c_str(), line.c_str());
  }
  if (version != kRunDirVersion)
    return errorf(
        "%s/config: version %u, this library reads %u; use the wavetap command it came with",
        dir.c_str(), version, kRunDirVersion);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<std::string> model_text =
        sys::read_file(dir + "/models/" + std::to_string(i));
    if (!model_text) return errorf("%s/models/%zu: cannot read", dir.c_str(), i);
    Result<model::Model> model = model::parse_model(names[i], *model_text);
    if (!model.ok()) return model.error();
    config.models.push_back(std::move(*model));
  }
  const Status status = validate(config);
  if (!status.ok()) return status.error();
  return config;
}

}  // namespace wavetap::vgpu
