// Group 2: parameters of the amdgpu module, in force and configured, and boot options. What is not
// the default is said; what does not exist or cannot affect this chip is said louder, because
// somebody believes it helps.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "doctor/finding.h"
#include "doctor/machine.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

enum class OptionKind : unsigned char { kPlain, kRisky, kDebug, kUnknownName };

struct ModuleOption {
  std::string_view name;
  std::string_view default_value;
  std::string_view chips;
  OptionKind kind;
  std::string_view text;
};

// clang-format off
constexpr ModuleOption kOptions[] = {
#define WT_MODULE_OPTION(name, default_value, chips, kind, text) {name, default_value, chips, OptionKind::kind, text},
#include "doctor/module_options.inc"
#undef WT_MODULE_OPTION
};
// clang-format on

constexpr const char* kParameters = "/sys/module/amdgpu/parameters";

const ModuleOption* find_option(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const ModuleOption& o) { return o.name == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

// One `NAME=VALUE` for the module, and where it stands.
struct Configured {
  std::string name;
  std::string value;
  std::string where;
};

std::vector<Configured> configured_options(const Root& root) {
  std::vector<Configured> found;
  for (const char* folder :
       {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"}) {
    for (const std::string& name : root.list(folder)) {
      if (!name.ends_with(".conf")) continue;
      const std::string path = std::string(folder) + "/" + name;
      const ReadText text = root.read(path);
      if (!text.ok()) continue;
      size_t number = 0;
      for (const std::string& line : util::split(*text.text, '\n')) {
        ++number;
        const std::vector<std::string> words = util::split(trimmed(line), ' ');
        if (words.size() < 3 || words[0] != "options" || words[1] != "amdgpu") continue;
        for (size_t i = 2; i < words.size(); ++i) {
          const size_t equals = words[i].find('=');
          if (equals == std::string::npos) continue;
          found.push_back({words[i].substr(0, equals), words[i].substr(equals + 1),
                           fmt::format("{}:{}", path, number)});
        }
      }
    }
  }
  if (const auto command_line = root.line("/proc/cmdline")) {
    for (const std::string& word : util::split(*command_line, ' ')) {
      const size_t equals = word.find('=');
      if (!word.starts_with("amdgpu.") || equals == std::string::npos) continue;
      found.push_back({word.substr(7, equals - 7), word.substr(equals + 1), "/proc/cmdline"});
    }
  }
  return found;
}

bool same_value(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = util::parse_unsigned(a), right = util::parse_unsigned(b);
  return left && right && *left == *right;
}

bool reaches(const ModuleOption& option, const Gpu& gpu) {
  return option.chips.empty() || !gpu.target ||
         amd::to_string(*gpu.target).starts_with(option.chips);
}

std::string restore(const Configured& configured) {
  if (configured.where == "/proc/cmdline") {
    return fmt::format(
        "remove amdgpu.{}={} from the kernel command line (GRUB_CMDLINE_LINUX in "
        "/etc/default/grub), then update-grub and reboot",
        configured.name, configured.value);
  }
  const std::string path = configured.where.substr(0, configured.where.rfind(':'));
  return fmt::format("remove {}={} from {}, then update-initramfs -u and reboot", configured.name,
                     configured.value, path);
}

void judge_configured(const Machine& machine, const Configured& configured, Findings& findings) {
  const ModuleOption* option = find_option(configured.name);
  const bool has_parameters = !machine.root.list(kParameters).empty();
  const bool in_module = machine.root.exists(std::string(kParameters) + "/" + configured.name);
  const std::string setting = configured.name + "=" + configured.value;
  if (!in_module && (option == nullptr || option->kind == OptionKind::kUnknownName)) {
    std::vector<std::string> names;
    for (const ModuleOption& known : kOptions) {
      if (known.kind != OptionKind::kUnknownName) names.emplace_back(known.name);
    }
    const std::string near = util::nearest_name(configured.name, names);
    Finding& unknown =
        findings.warning("module-options.unknown", "amdgpu has no parameter " + configured.name)
            .saw(configured.where, setting)
            .because(
                option != nullptr
                    ? std::string(option->text)
                    : "The module ignores it and logs \"unknown parameter\": it has no effect.");
    if (has_parameters) unknown.saw(std::string(kParameters) + "/" + configured.name, "not there");
    unknown.as_root(restore(configured));
    if (option == nullptr && !near.empty()) unknown.advise("did you mean " + near + "?");
    return;
  }
  if (option == nullptr) return;
  const bool on_any =
      machine.gpus.empty() || std::any_of(machine.gpus.begin(), machine.gpus.end(),
                                          [&](const Gpu& gpu) { return reaches(*option, gpu); });
  if (!on_any) {
    findings
        .warning("module-options.no-effect",
                 fmt::format("{} cannot affect {}", setting, machine.gpus.front().target_name()))
        .saw(configured.where, setting)
        .because(std::string(option->text) + ".")
        .as_root(restore(configured));
  }
}

void judge_running(const Machine& machine, const std::string& name, const std::string& value,
                   const std::vector<Configured>& configured, Findings& findings) {
  const ModuleOption* option = find_option(name);
  if (option == nullptr || option->kind == OptionKind::kUnknownName) return;
  if (value.empty() || value == "(null)" || same_value(value, option->default_value)) return;
  // The default of these two depends on the kernel; only the value the scripts set is worth a word.
  const bool changed_default =
      name == "ppfeaturemask" || name == "lockup_timeout" || name == "gpu_recovery";
  const auto set_by = std::find_if(configured.begin(), configured.end(),
                                   [&](const Configured& c) { return c.name == name; });
  if (changed_default && set_by == configured.end()) return;
  const bool risky = option->kind != OptionKind::kPlain &&
                     !(name == "ppfeaturemask" && !same_value(value, "0xffffffff"));
  Finding& finding = findings.add(
      risky ? Verdict::kWarning : Verdict::kNote, "module-options.not-default",
      fmt::format(
          "amdgpu.{} is {}{}", name, value,
          option->default_value.empty() ? "" : fmt::format(", not {}", option->default_value)));
  finding.saw(std::string(kParameters) + "/" + name, value)
      .because(std::string(option->text) + ".");
  if (set_by != configured.end()) {
    finding.saw(set_by->where, set_by->name + "=" + set_by->value);
    finding.as_root(restore(*set_by));
  }
}

}  // namespace

void check_module_options(const Machine& machine, Findings& findings) {
  const size_t mark = findings.all().size();
  const std::vector<Configured> configured = configured_options(machine.root);
  for (const Configured& entry : configured) judge_configured(machine, entry, findings);

  const std::vector<std::string> names = machine.root.list(kParameters);
  if (names.empty()) {
    findings.unknown("module-options.running", "the parameters in force cannot be read")
        .saw(kParameters, "not there");
    return;
  }
  for (const std::string& name : names) {
    const std::string path = std::string(kParameters) + "/" + name;
    if (const auto value = machine.root.line(path))
      judge_running(machine, name, *value, configured, findings);
  }
  for (const char* word : {"nomodeset", "modprobe.blacklist=amdgpu"}) {
    const std::string line = machine.root.line("/proc/cmdline").value_or("");
    const std::vector<std::string> words = util::split(line, ' ');
    if (std::find(words.begin(), words.end(), word) == words.end()) continue;
    findings.error("module-options.boot", fmt::format("the kernel was started with {}", word))
        .saw("/proc/cmdline", word)
        .because("It keeps amdgpu from driving the GPU.")
        .as_root(fmt::format(
            "remove {} from GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub and reboot",
            word));
  }
  if (findings.clean_since(mark)) {
    findings.ok("module-options", fmt::format("{} read", util::count_of(names.size(), "parameter")))
        .saw(kParameters, "readable");
  }
}

}  // namespace wavetap::doctor
