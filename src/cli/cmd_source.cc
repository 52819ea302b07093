// wavetap source: machine code and the source it comes from, both ways, with the calls that were
// inlined and, where something was counted, how often.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/source_input.h"
#include "inspect/source_text.h"
#include "util/inlined_text.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/pattern.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using inspect::Frame;
using inspect::ListedSite;
using inspect::SiteFigures;
using Function = SourceFunction;
using Json = nlohmann::ordered_json;

struct SourceOptions {
  std::string file;
  std::string kernel;
  std::string target;
  std::string line;
  std::string counters;
  bool json = false;
};

struct LinePlace {
  std::string file;
  uint32_t line = 0;
};

std::optional<LinePlace> parse_line(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::optional<uint64_t> line = util::parse_unsigned(text.substr(colon + 1));
  if (!line || *line == 0 || *line > UINT32_MAX) return std::nullopt;
  return LinePlace{text.substr(0, colon), static_cast<uint32_t>(*line)};
}

// "a.hip" is any file of this name, "x/a.hip" any whose path ends so.
bool is_file(const std::string& path, const std::string& wanted) {
  return path == wanted || path.ends_with("/" + wanted);
}

bool comes_from(const ListedSite& site, const LinePlace& place) {
  return std::any_of(site.frames.begin(), site.frames.end(), [&](const Frame& frame) {
    return frame.line == place.line && is_file(frame.file, place.file);
  });
}

std::string counts_text(const Function& function, uint32_t site) {
  if (function.figures.empty()) return "";
  const auto found = function.figures.find(site);
  const SiteFigures figures = found == function.figures.end() ? SiteFigures() : found->second;
  std::string memory;
  if (figures.lines != 0) memory = fmt::format("{}/{}", figures.lines, figures.ideal_lines);
  if (figures.lds_cycles != 0) memory = fmt::format("{}/{}", figures.lds_cycles, figures.lds_ideal);
  return fmt::format("{:>10} {:>12} ", figures.count, memory);
}

void print_site(const Function& function, uint32_t site) {
  const ListedSite& listed = function.listing.sites[site];
  const size_t begin = std::min(listed.text.find_first_not_of(" \t"), listed.text.size());
  fmt::print("  {:06x}  {}{}\n", listed.address, counts_text(function, site),
             listed.text.substr(begin));
}

// "; saxpy.hip:12: y[i] = …", and the calls that were inlined there.
void print_place(const ListedSite& site, inspect::SourceText& texts) {
  const Frame& shown = site.shown();
  const std::string text = texts.line(shown.file, shown.line);
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  fmt::print("; {}{}{}\n", util::escape_control(inspect::short_place(shown)),
             begin == text.size() ? "" : ": ", util::escape_control(text.substr(begin)));
  std::vector<util::NamedPlace> frames;
  for (const Frame& frame : site.frames)
    frames.push_back({frame.function, inspect::short_place(frame)});
  for (const std::string& line : util::inlined_lines(frames, inspect::short_place(shown)))
    fmt::print(";   {}\n", util::escape_control(line));
}

// The code in order, each change of source line announced.
void print_listing(const Function& function, inspect::SourceText& texts) {
  fmt::print("{} {}  ; {}, wave{}, {}\n", function.is_kernel ? "kernel" : "function",
             util::escape_control(function.name), amd::to_string(function.listing.target),
             function.listing.wave64 ? 64 : 32, util::escape_control(function.library));
  if (!function.figures.empty())
    fmt::print("  address {:>10} {:>12}  (executed; lines or LDS cycles used/needed)\n", "count",
               "memory");
  std::vector<Frame> last;
  for (uint32_t i = 0; i < function.listing.sites.size(); ++i) {
    const ListedSite& site = function.listing.sites[i];
    if (site.text.empty()) continue;
    if (!site.frames.empty() && site.frames != last) print_place(site, texts);
    last = site.frames;
    print_site(function, i);
  }
  fmt::print("\n");
}

bool print_line(const Function& function, const LinePlace& place) {
  bool any = false;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < function.listing.sites.size(); ++i) {
    const ListedSite& site = function.listing.sites[i];
    if (site.text.empty() || !comes_from(site, place)) continue;
    if (!any)
      fmt::print("{} {}  ; {}, {}\n", function.is_kernel ? "kernel" : "function",
                 util::escape_control(function.name), amd::to_string(function.listing.target),
                 util::escape_control(function.library));
    any = true;
    print_site(function, i);
    if (const auto found = function.figures.find(i); found != function.figures.end())
      sum += found->second.count;
  }
  if (sum != 0)
    fmt::print("  {} instructions of this line were executed by waves\n", util::group_digits(sum));
  return any;
}

// The nearest lines that have code, for a line that has none.
int no_such_line(const std::vector<const Function*>& functions, const LinePlace& place,
                 const std::string& file) {
  bool known_file = false, any_lines = false;
  uint32_t before = 0, after = UINT32_MAX;
  for (const Function* function : functions)
    for (const ListedSite& site : function->listing.sites)
      for (const Frame& frame : site.frames) {
        any_lines = true;
        if (!is_file(frame.file, place.file)) continue;
        known_file = true;
        if (frame.line < place.line) before = std::max(before, frame.line);
        if (frame.line > place.line) after = std::min(after, frame.line);
      }
  if (!any_lines)
    return fail(errorf("%s: no source lines are known; compile with -g or -gline-tables-only",
                       file.c_str()));
  if (!known_file)
    return fail(errorf("%s: no code comes from a file %s", file.c_str(), place.file.c_str()));
  std::string near = before != 0 ? std::to_string(before) : "";
  if (after != UINT32_MAX) near += (near.empty() ? "" : " and ") + std::to_string(after);
  return fail(errorf("%s: no instruction comes from %s:%u; the nearest lines with code are %s",
                     file.c_str(), place.file.c_str(), place.line, near.c_str()));
}

std::string dispatches_text(const Function& function) {
  if (function.dispatches == 0) return "";
  return fmt::format("; {}, {:.3f} ms", util::count_of(function.dispatches, "dispatch"),
                     static_cast<double>(function.total_ns) / 1e6);
}

// By library, so that it is said once.
void print_list(const std::vector<const Function*>& functions) {
  std::vector<std::string> libraries;
  for (const Function* function : functions)
    if (std::find(libraries.begin(), libraries.end(), function->library) == libraries.end())
      libraries.push_back(function->library);
  for (const std::string& library : libraries) {
    fmt::print("{}\n", util::escape_control(library));
    for (const Function* function : functions) {
      if (function->library != library) continue;
      std::string at = "no source lines";
      for (const ListedSite& site : function->listing.sites)
        if (!site.frames.empty()) {
          // The outermost is the function that is there.
          at = inspect::full_place(site.frames.back());
          break;
        }
      fmt::print("  {} {}\n    {}, wave{}, {}; {}{}\n", function->is_kernel ? "kernel" : "function",
                 util::escape_control(function->name), amd::to_string(function->listing.target),
                 function->listing.wave64 ? 64 : 32,
                 util::count_of(function->listing.sites.size(), "instruction"),
                 util::escape_control(at), dispatches_text(*function));
    }
  }
}

Json to_json(const Function& function, const std::optional<LinePlace>& place, bool with_code) {
  Json described = {{"name", function.name},
                    {"kernel", function.is_kernel},
                    {"target", amd::to_string(function.listing.target)},
                    {"wave_size", function.listing.wave64 ? 64 : 32},
                    {"library", function.library},
                    {"instruction_count", function.listing.sites.size()}};
  if (function.dispatches != 0) {
    described["dispatches"] = function.dispatches;
    described["total_ns"] = function.total_ns;
  }
  if (!with_code) return described;
  Json sites = Json::array();
  for (uint32_t i = 0; i < function.listing.sites.size(); ++i) {
    const ListedSite& site = function.listing.sites[i];
    if (site.text.empty() || (place && !comes_from(site, *place))) continue;
    Json frames = Json::array();
    for (const Frame& frame : site.frames)
      frames.push_back({{"file", frame.file},
                        {"line", frame.line},
                        {"column", frame.column},
                        {"function", frame.function}});
    const size_t begin = std::min(site.text.find_first_not_of(" \t"), site.text.size());
    Json one = {{"address", fmt::format("{:#x}", site.address)},
                {"instruction", site.text.substr(begin)},
                {"frames", std::move(frames)}};
    if (!site.frames.empty()) one["source"] = inspect::full_place(site.shown());
    if (const auto found = function.figures.find(i); found != function.figures.end()) {
      const SiteFigures& figures = found->second;
      one["count"] = figures.count;
      one["lanes"] = figures.lanes;
      one["lines"] = figures.lines;
      one["ideal_lines"] = figures.ideal_lines;
      one["lds_cycles"] = figures.lds_cycles;
      one["lds_ideal"] = figures.lds_ideal;
      one["parted"] = figures.parted;
    }
    sites.push_back(std::move(one));
  }
  described["instructions"] = std::move(sites);
  return described;
}

int show_source(const SourceOptions& options) {
  std::optional<LinePlace> place;
  if (!options.line.empty() && !(place = parse_line(options.line)))
    return fail(errorf("--line %s: not understood; write FILE:LINE", options.line.c_str()));
  const Result<util::Pattern> pattern = util::compile_pattern(options.kernel);
  if (!pattern.ok()) return fail(pattern.error());
  const auto is_chosen = [&](const std::string& name) {
    return options.kernel.empty() || util::is_found(*pattern, name);
  };
  const Result<SourceInput> input =
      read_source_input(options.file, options.target, options.counters, is_chosen);
  if (!input.ok()) return fail(input.error());
  for (const std::string& problem : input->problems)
    warn({options.file + ": " + util::escape_control(problem)});
  std::vector<const Function*> chosen;
  for (const Function& function : input->functions)
    if (is_chosen(function.name)) chosen.push_back(&function);
  if (chosen.empty())
    return fail(
        errorf("%s: none of its %zu functions matches; leave out -k and --target to see them",
               options.file.c_str(), input->functions.size()));
  const bool with_code = place || !options.kernel.empty();
  if (options.json) {
    Json document = {{"schema", "wavetap-source"}, {"version", 1}, {"functions", Json::array()}};
    for (const Function* function : chosen) {
      Json described = to_json(*function, place, with_code);
      if (!place || !described["instructions"].empty())
        document["functions"].push_back(std::move(described));
    }
    fmt::print("{}", util::json_text(document));
    return kDone;
  }
  if (!with_code) {
    print_list(chosen);
    return kDone;
  }
  if (place) {
    bool any = false;
    for (const Function* function : chosen) any = print_line(*function, *place) || any;
    return any ? static_cast<int>(kDone) : no_such_line(chosen, *place, options.file);
  }
  inspect::SourceText texts;
  for (const Function* function : chosen) print_listing(*function, texts);
  return kDone;
}

}  // namespace

void add_source(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<SourceOptions>();
  Command& command = parent.add_command(
      "source", "which machine code comes from which source line, and the other way round",
      "source FILE|DIR [-k REGEX] [--line FILE:LINE] [OPTIONS]",
      "  wavetap source ./my_hip_program\n"
      "  wavetap source ./my_hip_program -k saxpy --target gfx1030\n"
      "  wavetap source kernel.wtcap --line main.hip:42\n"
      "  wavetap source results -k saxpy         with counts of wavetap probe -o\n"
      "  wavetap source trace.rpd                which kernels ran, and from where\n");
  command
      .add_option(
          "FILE", options->file,
          "a HIP program, library, offload bundle, code object, capture (.wtcap) or trace (.rpd); "
          "or the folder of wavetap probe -o")
      ->required();
  command
      .add_option("--kernel,-k", options->kernel,
                  "print the code of kernels and functions whose demangled name matches")
      ->type_name("REGEX");
  command.add_option("--line", options->line, "print the instructions that come from this line")
      ->type_name("FILE:LINE");
  command.add_option("--target", options->target, "only code for this target, gfx1030 say")
      ->type_name("GFX");
  command
      .add_option("--counters", options->counters,
                  "counts of a run of the program: what run --counters FILE --caches wrote")
      ->type_name("FILE");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = show_source(*options); });
}

}  // namespace wavetap::cli
