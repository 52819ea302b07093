#include "doctor/call_redirects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/byte_cursor.h"
#include "correct/redirect_log.h"
#include "util/file.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

std::string layer_of(const std::string& function) {
  if (function.starts_with("hsa_")) return "HSA";
  return function.starts_with("hip") ? "HIP" : "CUDA";
}

std::string text_of(const char* text, size_t size) {
  return std::string(text, strnlen(text, size));
}

// Functions that put a kernel on the GPU.
bool is_launch(const std::string& function) {
  return function.find("LaunchKernel") != std::string::npos ||
         function.find("LaunchCooperative") != std::string::npos ||
         function.find("GraphLaunch") != std::string::npos ||
         function.find("ModuleLaunch") != std::string::npos;
}

std::string launch_count(uint64_t count, const char* kind = "") {
  return fmt::format("{} {}launch{}", count, kind, count == 1 ? "" : "es");
}

// What went through one layer.
struct Level {
  uint64_t calls = 0;
  uint64_t launches = 0;
  std::string library;

  void add(const Redirect& redirect) {
    calls += redirect.calls;
    if (is_launch(redirect.function)) launches += redirect.calls;
    if (redirect.calls != 0 || library.empty()) library = redirect.to;
  }
  std::string text(const char* name) const {
    return fmt::format("{} {} calls ({})", calls, name, launch_count(launches));
  }
};

struct Levels {
  Level cuda, hip;
  Level below_cuda;  // HIP calls made by the CUDA library
  uint64_t hsa_calls = 0;

  std::string text() const {
    return fmt::format("{}, {}, {} HSA calls", cuda.text("CUDA"), hip.text("HIP"), hsa_calls);
  }
};

Levels count_levels(const std::vector<Redirect>& redirects) {
  Levels levels;
  for (const Redirect& redirect : redirects) {
    if (redirect.layer == "HSA") levels.hsa_calls += redirect.calls;
    else (redirect.layer == "CUDA" ? levels.cuda : levels.hip).add(redirect);
  }
  for (const Redirect& redirect : redirects) {
    const std::string& cuda = levels.cuda.library;
    if (redirect.layer == "HIP" && !cuda.empty() && redirect.from == cuda)
      levels.below_cuda.add(redirect);
  }
  return levels;
}

void judge_translation(const std::string& process, const Levels& levels, Findings& findings) {
  const auto& [cuda, hip, below_cuda, hsa_calls] = levels;
  findings.warning("redirects.translated", fmt::format("{} calls CUDA and gets HIP", process))
      .saw("chain", fmt::format("{} -> {} -> {}{}", process, base_name(cuda.library),
                                base_name(below_cuda.library), hsa_calls != 0 ? " -> HSA" : ""))
      .saw("calls", levels.text())
      .because(
          "The CUDA library forwards to HIP. Device figures and functions without a counterpart "
          "are its own.")
      .advise("use the ROCm build of the program when there is one");
  if (cuda.launches <= below_cuda.launches) return;
  findings
      .warning("redirects.cpu-fallback",
               fmt::format("{} of {} did not reach HIP", cuda.launches - below_cuda.launches,
                           launch_count(cuda.launches, "CUDA ")))
      .saw(cuda.library, launch_count(cuda.launches))
      .saw(below_cuda.library,
           fmt::format("{} from {}", launch_count(below_cuda.launches), base_name(cuda.library)))
      .because("The layer carried them out on the CPU, or not at all.")
      .advise(
          "look for functions of the list below that have CUDA calls and no HIP calls to match");
}

}  // namespace

std::vector<Redirect> read_redirects(const std::string& folder) {
  std::map<std::tuple<std::string, std::string, std::string>, Redirect> sum;
  for (const std::string& name : Root().list(folder)) {
    const Result<std::vector<std::byte>> bytes = util::read_file(folder + "/" + name);
    if (!bytes.ok()) continue;
    const auto header = read_at<correct::RedirectHeader>(*bytes, 0);
    if (!header || header->magic != correct::kRedirectMagic ||
        header->version != correct::kRedirectVersion)
      continue;
    for (uint32_t i = 0; i < std::min(header->rows, correct::kMaxRedirects); ++i) {
      const auto row = read_at<correct::RedirectRow>(
          *bytes, sizeof(correct::RedirectHeader) + size_t{i} * sizeof(correct::RedirectRow));
      if (!row) break;
      Redirect redirect;
      redirect.function = text_of(row->function, sizeof row->function);
      redirect.from = text_of(row->from, sizeof row->from);
      redirect.to = text_of(row->to, sizeof row->to);
      Redirect& total = sum[{redirect.function, redirect.from, redirect.to}];
      const uint64_t calls = total.calls + row->calls;
      const bool by_dlsym = total.by_dlsym || row->by_dlsym != 0;
      total = redirect;
      total.layer = layer_of(total.function);
      total.calls = calls;
      total.by_dlsym = by_dlsym;
    }
  }
  std::vector<Redirect> list;
  for (auto& [key, redirect] : sum) list.push_back(std::move(redirect));
  std::stable_sort(list.begin(), list.end(),
                   [](const Redirect& a, const Redirect& b) { return a.calls > b.calls; });
  return list;
}

std::string redirects_text(const std::vector<Redirect>& redirects, size_t columns, size_t top) {
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<uint64_t, size_t>> edges;
  for (const Redirect& redirect : redirects) {
    auto& [calls, functions] = edges[{redirect.layer, redirect.from, redirect.to}];
    calls += redirect.calls;
    ++functions;
  }
  util::Table chain({{"LAYER"},
                     {"CALLS", util::Align::kRight},
                     {"FUNCTIONS", util::Align::kRight},
                     {"FROM"},
                     {"ANSWERED BY", util::Align::kLeft, true}});
  for (const char* layer : {"CUDA", "HIP", "HSA"}) {
    for (const auto& [key, value] : edges) {
      if (std::get<0>(key) != layer) continue;
      chain.add({layer, util::group_digits(value.first), util::group_digits(value.second),
                 util::escape_control(base_name(std::get<1>(key))),
                 util::escape_control(std::get<2>(key))});
    }
  }
  util::Table functions({{"FUNCTION"},
                         {"CALLS", util::Align::kRight},
                         {"FROM"},
                         {"ANSWERED BY", util::Align::kLeft, true}});
  size_t shown = 0;
  for (const Redirect& redirect : redirects) {
    if (redirect.calls == 0 || (top != 0 && shown++ >= top)) continue;
    functions.add(
        {util::escape_control(redirect.function), util::group_digits(redirect.calls),
         util::escape_control(base_name(redirect.from)),
         util::escape_control(base_name(redirect.to) + (redirect.by_dlsym ? " (dlsym)" : ""))});
  }
  if (chain.empty()) return "";
  std::string text = chain.text(columns);
  if (functions.empty()) return text;
  text += '\n';
  text += functions.text(columns);
  return text;
}

void judge_redirects(const std::string& process, const std::vector<Redirect>& redirects,
                     Findings& findings) {
  findings.enter_group(kLibraryGroup);
  const Levels levels = count_levels(redirects);
  const std::string counts = levels.text();
  if (redirects.empty()) {
    findings.note("redirects", process + " binds no CUDA, HIP or HSA function")
        .saw(process, counts)
        .because("Whatever it computed, it computed on the CPU, or it is linked statically.");
    return;
  }
  const bool translated = !levels.below_cuda.library.empty();
  if (translated) judge_translation(process, levels, findings);
  if (levels.cuda.calls + levels.hip.calls != 0 &&
      levels.cuda.launches + levels.hip.launches == 0) {
    findings.note("redirects.no-launch", process + " uses the runtime and launches no kernel")
        .saw("calls", counts)
        .because(
            "It asks for devices or moves data, and computes on the CPU: a fallback, if kernels "
            "were expected.");
  }
  if (!translated)
    findings.ok("redirects", "every function is answered by the library of its name")
        .saw("calls", counts);
}

}  // namespace wavetap::doctor
