#include "cli/gpu_start.h"

#include <fmt/format.h>
#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <variant>

#include "cli/install_tree.h"
#include "util/text.h"
#include "vgpu/config.h"

namespace wavetap::cli {

Result<std::vector<model::Model>> find_models(const std::vector<std::string>& names) {
  std::vector<model::Model> models;
  for (const std::string& name : util::split(util::join(names, ","), ',')) {
    if (name.empty()) return errorf("--gpu: empty model name; write --gpu MODEL[,MODEL…]");
    Result<model::Model> model = find_model(name);
    if (!model.ok()) return model.error();
    models.push_back(std::move(*model));
  }
  return models;
}

Status check_kernel_pattern(const std::string& pattern, const std::string& shown) {
  if (pattern.empty()) return {};
  if (pattern.find('\n') != std::string::npos)
    return errorf("-k: a pattern is one line; write . for any character");
  regex_t compiled;
  const int error = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) {
    ::regfree(&compiled);
    return {};
  }
  char text[128];
  ::regerror(error, &compiled, text, sizeof text);
  return errorf("-k %s: not a regular expression: %s; see regex(7)",
                (shown.empty() ? pattern : shown).c_str(), text);
}

Result<format::LaunchList> parse_launches(const std::string& text) {
  std::optional<format::LaunchList> list = format::LaunchList::parse(text);
  if (!list)
    return errorf("--launch %s: not a list of numbers from 1; write N[,N-M…]", text.c_str());
  return std::move(*list);
}

std::string tools_asked_for() {
  const char* const present = std::getenv("HSA_TOOLS_LIB");
  return present == nullptr ? "" : present;
}

std::string tools_list(const std::string& library) {
  const std::string before = tools_asked_for();
  if (before.empty() || before == library) return library;
  return before.ends_with(" " + library) ? before : before + " " + library;
}

std::string tools_with_gpu(const std::string& gpu_library, const std::string& others) {
  if (others.empty() || others == gpu_library) return gpu_library;
  return others.starts_with(gpu_library + " ") ? others : gpu_library + " " + others;
}

std::string driver_option_help() {
  std::vector<std::string> options;
  for (const vgpu::DriverOption& option : vgpu::driver_options()) {
    const bool is_number = std::holds_alternative<uint32_t vgpu::Config::*>(option.field);
    options.push_back(fmt::format("{}{} ({})", option.name, is_number ? "=N" : "", option.help));
  }
  return "an option of the virtual machine, may be repeated: " + util::join(options, ", ");
}

Result<std::string> preloadable(const std::string& library, const std::string& run_dir) {
  if (library.find_first_of(" :") == std::string::npos) return library;
  const std::string link = run_dir + library.substr(library.rfind('/'));
  if (link.find_first_of(" :") != std::string::npos ||
      symlink(library.c_str(), link.c_str()) != 0) {
    return errorf(
        "%s: cannot be preloaded from a path with spaces or colons; install wavetap elsewhere",
        library.c_str());
  }
  return link;
}

std::string preload_list(const std::string& gpu, const std::string& correct,
                         const std::string& agent) {
  std::vector<std::string> list;
  const auto add = [&](const std::string& library) {
    if (!library.empty() && std::find(list.begin(), list.end(), library) == list.end())
      list.push_back(library);
  };
#if defined(WT_SANITIZER_RUNTIME)
  add(WT_SANITIZER_RUNTIME);  // an instrumented library needs it, and it must be the first of all
#endif
  add(gpu);
  add(correct);
  if (const char* present = std::getenv("LD_PRELOAD"); present != nullptr) {
    std::string text = present;
    std::replace(text.begin(), text.end(), ' ', ':');
    for (const std::string& library : util::split(text, ':')) add(library);
  }
  add(agent);
  return util::join(list, ":");
}

}  // namespace wavetap::cli
