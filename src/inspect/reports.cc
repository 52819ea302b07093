#include "inspect/reports.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/json.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

constexpr int kVersion = 1;  // bumped when the meaning of an existing key changes

std::string log_text(const ProbeResults&, const ProbedKernel& kernel, const TextOptions&) {
  return fmt::format("log: {} in log.jsonl (of all kernels so far)\n",
                     util::count_of(kernel.log_records, "record"));
}
Json log_json(const ProbeResults&, const ProbedKernel& kernel) {
  return {{"records", kernel.log_records}};
}

constexpr Report kReports[] = {
    {"memory", memory_text, memory_json},
    {"blocks", blocks_text, blocks_json},
    {"instructions", instructions_text, instructions_json},
    {"latency", latency_text, latency_json},
    {"values", values_text, values_json},
    {"heatmap", heatmap_text, heatmap_json},
    {"log", log_text, log_json},
};

const Report* find_report(const std::string& handler) {
  for (const Report& report : kReports)
    if (handler == report.handler) return &report;
  return nullptr;
}

// What a plugin said: its own words where it has some.
std::string plugin_text(const std::string& handler, const Json& data) {
  if (data.is_object() && data.contains("text") && data["text"].is_string())
    return data["text"].get<std::string>() + "\n";
  return fmt::format("{}: {}\n", handler, util::json_line(data));
}

std::string kernel_head(const ProbedKernel& kernel) {
  std::string head = fmt::format("== {}\n   {} ({}, wave{}), {}",
                                 util::escape_control(kernel.kernel), kernel.model, kernel.target,
                                 kernel.wave_size, util::count_of(kernel.dispatches, "dispatch"));
  if (kernel.faulted != 0)
    head += fmt::format(", {} of them ended in a fault ({}): what came before it is here",
                        kernel.faulted, kernel.fault);
  if (kernel.abandoned != 0)
    head += fmt::format(", {} of them the program took back", kernel.abandoned);
  return head + "\n";
}

const std::vector<MergedPlace>* merged_of(const ProbeResults& results, const ProbedKernel& kernel) {
  for (const ProbedCode& code : results.codes)
    if (!code.merged.empty() && code.pass_kernel == kernel.kernel &&
        amd::to_string(code.listing.target) == kernel.target)
      return &code.merged;
  return nullptr;
}

std::string merged_text(const ProbeResults& results, const ProbedKernel& kernel) {
  const std::vector<MergedPlace>* const merged = merged_of(results, kernel);
  if (merged == nullptr) return "";
  std::vector<std::string> places;
  for (const MergedPlace& place : *merged)
    places.push_back(fmt::format("{} ({}, {})", short_place(place.frame),
                                 util::count_of(place.accesses, "access"),
                                 util::count_of(place.instructions, "instruction")));
  return fmt::format("joined or split by the compiler: {}\n", util::join(places, ", "));
}

std::string chance_text(const ProbeResults& results) {
  if (results.random.one_in == 0) return "";
  return fmt::format(" by a chance of one in {}, seed {}", results.random.one_in,
                     results.random.seed);
}

std::string why_nothing(const ProbeResults& results, bool told) {
  if (results.dispatches == 0 && results.left_out == 0 && !results.refused.empty())
    return "probe: nothing was seen: no dispatch was told to a handler, see above\n";
  if (results.processes == 0 || (results.dispatches == 0 && results.left_out == 0))
    return "probe: the program dispatched no kernel; nothing was seen\n";
  if (results.dispatches == 0 && results.random.one_in != 0)
    return fmt::format(
        "probe: nothing was seen: none of the {} dispatches was chosen, by a chance of one in {} (seed "
        "{}); try -d first, or -d random=N with a smaller N\n",
        results.left_out, results.random.one_in, results.random.seed);
  if (results.dispatches == 0 && told)
    return fmt::format(
        "probe: nothing was seen: none of the {} dispatches was of a chosen kernel that was compiled "
        "with wavetap-hipcc and could be run so; see below, -k and --launch\n",
        results.left_out);
  if (results.dispatches == 0)
    return fmt::format(
        "probe: nothing was seen: none of the {} dispatches was chosen; see -k, --library and --launch\n",
        results.left_out);
  return "";
}

}  // namespace

std::span<const Report> reports() { return kReports; }

const char* space_name(uint32_t space) {
  constexpr const char* kNames[] = {"global", "lds", "scratch"};
  return space < std::size(kNames) ? kNames[space] : "?";
}

const char* access_name(uint32_t access) {
  constexpr const char* kNames[] = {"load", "store", "atomic", "atomic"};
  return access < std::size(kNames) ? kNames[access] : "?";
}

std::string place_of(const ProbeResults& results, SiteKey key) {
  const ListedSite* site = results.site(key);
  if (site == nullptr) return fmt::format("code {} site {}", key.code, key.site);
  if (site->frames.empty()) return fmt::format("+{:#x}", results.facts(key)->offset);
  return short_place(site->shown());
}

std::string instruction_of(const ProbeResults& results, SiteKey key) {
  const ListedSite* site = results.site(key);
  if (site == nullptr) return "?";
  const size_t begin = site->text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : site->text.substr(begin);
}

std::string mnemonic_of(const ProbeResults& results, SiteKey key) {
  const std::string text = instruction_of(results, key);
  return text.substr(0, text.find(' '));
}

Json describe_site(const ProbeResults& results, SiteKey key) {
  Json described = {{"code", key.code}, {"site", key.site}};
  const ListedSite* site = results.site(key);
  if (site == nullptr) return described;
  described["address"] = fmt::format("{:#x}", site->address);
  described["instruction"] = instruction_of(results, key);
  if (site->frames.empty()) return described;
  described["source"] = full_place(site->shown());
  if (!site->shown().function.empty()) described["function"] = site->shown().function;
  if (site->frames.size() > 1) {
    Json frames = Json::array();
    for (const Frame& frame : site->frames)
      frames.push_back({{"function", frame.function}, {"source", full_place(frame)}});
    described["frames"] = std::move(frames);
  }
  return described;
}

bool is_instrumented(const ProbeResults& results, SiteKey key) {
  return key.code < results.codes.size() && !results.codes[key.code].pass_kernel.empty();
}

std::string lines_of(const ProbeResults& results, SiteKey key, uint32_t end) {
  const Frame* first = nullptr;
  uint32_t low = UINT32_MAX, high = 0;
  for (uint32_t i = key.site; i < end; ++i) {
    const ListedSite* site = results.site({key.code, i});
    if (site == nullptr || site->frames.empty()) continue;
    if (first == nullptr) first = &site->shown();
    if (site->shown().file != first->file) continue;
    low = std::min(low, site->shown().line);
    high = std::max(high, site->shown().line);
  }
  if (first == nullptr) return place_of(results, key);
  const std::string file = first->file.substr(first->file.rfind('/') + 1);
  return low == high ? fmt::format("{}:{}", file, low) : fmt::format("{}:{}-{}", file, low, high);
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.1f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string ratio(uint64_t value, uint64_t base) {
  return base == 0 ? "-"
                   : fmt::format("{:.2f}", static_cast<double>(value) / static_cast<double>(base));
}

std::string to_text(const ProbeResults& results, const std::vector<std::string>& handlers,
                    const TextOptions& options) {
  std::string text;
  for (const ProbedKernel& kernel : results.kernels) {
    text += kernel_head(kernel);
    for (const std::string& handler : handlers) {
      const Report* report = find_report(handler);
      if (report == nullptr) continue;
      text += kernel.told.contains(handler)
                  ? report->text(results, kernel, options)
                  : fmt::format("{}: says nothing about this kernel\n", handler);
    }
    for (const auto& [handler, said] : kernel.others)
      for (const Json& data : said) text += plugin_text(handler, data);
    if (kernel.told.contains("memory")) text += merged_text(results, kernel);
    text += "\n";
  }
  for (const auto& [handler, said] : results.session)
    for (const Json& data : said) text += plugin_text(handler, data);
  text += why_nothing(results, options.told);
  if (results.dispatches != 0)
    text += fmt::format(
        "probe: {} probed, {} left out{}\n",
        results.dispatches == 1 ? "1 dispatch" : fmt::format("{} dispatches", results.dispatches),
        results.left_out, chance_text(results));
  for (const auto& [handler, count] : results.lost)
    text += fmt::format("probe: {}: {} not kept\n", handler, util::count_of(count, "event"));
  if (results.damaged != 0)
    text += fmt::format("probe: {} lost: a process was killed while it wrote\n",
                        util::count_of(results.damaged, "line"));
  for (const ProbedCode& code : results.codes)
    if (!code.problem.empty()) text += fmt::format("probe: {}: {}\n", code.file, code.problem);
  return text;
}

Json to_json(const ProbeResults& results, const std::vector<std::string>& handlers) {
  Json kernels = Json::array();
  for (const ProbedKernel& kernel : results.kernels) {
    Json told = {{"kernel", kernel.kernel},         {"model", kernel.model},
                 {"target", kernel.target},         {"wave_size", kernel.wave_size},
                 {"line_bytes", kernel.line_bytes}, {"dispatches", kernel.dispatches},
                 {"faulted", kernel.faulted},       {"abandoned", kernel.abandoned}};
    if (!kernel.fault.empty()) told["fault"] = kernel.fault;
    Json of_handler = Json::object();
    for (const std::string& handler : handlers)
      if (const Report* report = find_report(handler);
          report != nullptr && kernel.told.contains(handler))
        of_handler[handler] = report->json(results, kernel);
    for (const auto& [handler, said] : kernel.others) of_handler[handler] = said;
    if (const std::vector<MergedPlace>* const merged = merged_of(results, kernel)) {
      told["merged"] = Json::array();
      for (const MergedPlace& place : *merged)
        told["merged"].push_back({{"source", full_place(place.frame)},
                                  {"accesses", place.accesses},
                                  {"instructions", place.instructions}});
    }
    told["handlers"] = std::move(of_handler);
    kernels.push_back(std::move(told));
  }
  Json session = Json::object();
  for (const auto& [handler, said] : results.session) session[handler] = said;
  Json lost = Json::object();
  for (const auto& [handler, count] : results.lost) lost[handler] = count;
  Json refused = Json::object();
  for (const auto& [handler, why] : results.refused) refused[handler] = why;
  Json json = {{"version", kVersion},
               {"processes", results.processes},
               {"dispatches_probed", results.dispatches},
               {"dispatches_left_out", results.left_out},
               {"events_not_kept", std::move(lost)},
               {"lines_lost", results.damaged},
               {"refused", std::move(refused)},
               {"session", std::move(session)},
               {"kernels", std::move(kernels)}};
  if (results.random.one_in != 0)
    json["chance"] = {{"one_in", results.random.one_in}, {"seed", results.random.seed}};
  return json;
}

}  // namespace wavetap::inspect
