#include "cli/source_input.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/trace_input.h"
#include "codeobj/code_object.h"
#include "inspect/probe_results.h"
#include "replay/capture_file.h"
#include "replay/device_file.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_library.h"
#include "vgpu/queue_kernel_names.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

void add_object(const codeobj::CodeObject& object, const std::string& library,
                const std::string& target, const NameChoice& wanted,
                std::vector<SourceFunction>& functions) {
  if (!replay::is_for(object, target)) return;
  const codeobj::SourceMap map(object.elf());
  for (const replay::DeviceFunction& function : replay::functions_of(object)) {
    SourceFunction& made = functions.emplace_back();
    made.name = function.name;
    made.library = library;
    made.is_kernel = function.kernel != nullptr;
    if (!wanted(function.name)) continue;
    made.listing = inspect::make_listing(function.code, function.address, object.target(),
                                         function.wave64, &map);
  }
}

Result<SourceInput> of_capture(const std::string& path, const std::string& target,
                               const NameChoice& wanted) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(path);
  if (!file.ok()) return file.error();
  SourceInput input;
  if (!(*file)->damage().empty()) input.problems.push_back((*file)->damage());
  std::set<std::string> seen;  // the same code object may be in several captures
  for (const replay::Capture& capture : (*file)->captures())
    for (const replay::CapturedCodeObject& object : capture.code_objects) {
      if (!seen.insert(object.uri).second) continue;
      const std::vector<std::byte> image = (*file)->code_object_bytes(object);
      const Result<codeobj::CodeObject> opened = codeobj::CodeObject::open(image);
      if (opened.ok()) add_object(*opened, object.uri, target, wanted, input.functions);
      else input.problems.push_back(object.uri + ": " + opened.error().message);
    }
  return input;
}

Result<SourceInput> of_probe(const std::string& folder) {
  const Result<inspect::ProbeResults> results = inspect::read_probe_results(folder);
  if (!results.ok()) return results.error();
  if (results->codes.empty())
    return errorf("%s: no results in this folder; make them with wavetap probe -o", folder.c_str());
  SourceInput input;
  for (const inspect::ProbedCode& code : results->codes) {
    SourceFunction& made = input.functions.emplace_back();
    made.name = code.listing.function.empty() ? code.file : code.listing.function;
    made.library = folder + "/" + code.file;
    made.is_kernel = !code.arguments.empty();
    made.listing = code.listing;
    if (!code.problem.empty()) input.problems.push_back(code.file + ": " + code.problem);
  }
  for (const inspect::ProbedKernel& kernel : results->kernels)
    for (const auto& [key, figures] : inspect::site_figures(kernel))
      input.functions[key.code].figures[key.site].add(figures);
  return input;
}

// The ELF file that the loader's URI names, where it is still in a file.
Result<std::vector<std::byte>> image_of(const std::string& uri_text) {
  const std::optional<vgpu::CodeObjectUri> uri = vgpu::parse_code_object_uri(uri_text);
  if (!uri || uri->in_memory)
    return errorf(
        "its code was in the program's memory only; wavetap capture or wavetap probe -o keep it");
  Result<std::vector<std::byte>> bytes = util::read_file(uri->path);
  if (!bytes.ok()) return bytes.error();
  const std::span<const std::byte> part = codeobj::slice(
      *bytes, uri->offset,
      uri->size_bytes != 0 ? uri->size_bytes
                           : bytes->size() - std::min<uint64_t>(uri->offset, bytes->size()));
  if (part.empty()) return errorf("%s: it is not what it was", uri->path.c_str());
  return std::vector<std::byte>(part.begin(), part.end());
}

// The kernels that a trace has, with their code where its file is still there.
class TraceReader {
 public:
  TraceReader(const store::Trace& trace, const std::string& target, const NameChoice& wanted)
      : trace_(trace), target_(target), wanted_(wanted) {}

  SourceInput read() {
    SourceInput input;
    input.is_trace = true;
    count_dispatches();
    for (const store::CodeObjectUse& object : trace_.code_objects) add(object, input);
    return input;
  }

 private:
  struct Ran {
    uint64_t dispatches = 0;
    int64_t total_ns = 0;
  };

  void count_dispatches() {
    for (const store::Dispatch& dispatch : trace_.dispatches) {
      Ran& ran = ran_[dispatch.kernel];
      ++ran.dispatches;
      if (dispatch.op < trace_.ops.size())
        ran.total_ns += trace_.ops.end[dispatch.op] - trace_.ops.start[dispatch.op];
    }
  }

  // The same file loaded again, by another process say, is the same code.
  void add(const store::CodeObjectUse& object, SourceInput& input) {
    const std::string uri(trace_.str(object.uri));
    const auto [known, is_new] = first_function_.emplace(uri, input.functions.size());
    const bool is_used =
        std::any_of(trace_.kernels.begin(), trace_.kernels.end(), [&](const auto& kernel) {
          return kernel.code_object == object.id && ran_.contains(kernel.id);
        });
    if (is_new && is_used) {
      const Result<std::vector<std::byte>> image = image_of(uri);
      if (image.ok()) {
        const Result<codeobj::CodeObject> opened = codeobj::CodeObject::open(*image);
        if (opened.ok()) add_object(*opened, uri, target_, wanted_, input.functions);
        else input.problems.push_back(uri + ": " + opened.error().message);
      } else {
        input.problems.push_back(uri + ": " + image.error().message);
      }
      last_function_[uri] = input.functions.size();
    }
    if (!last_function_.contains(uri)) return;
    for (const store::KernelUse& kernel : trace_.kernels) {
      if (kernel.code_object != object.id || !ran_.contains(kernel.id)) continue;
      for (size_t i = known->second; i < last_function_[uri]; ++i) {
        SourceFunction& function = input.functions[i];
        if (!function.is_kernel || function.name != trace_.str(kernel.name)) continue;
        function.dispatches += ran_[kernel.id].dispatches;
        function.total_ns += ran_[kernel.id].total_ns;
      }
    }
  }

  const store::Trace& trace_;
  const std::string& target_;
  const NameChoice& wanted_;
  std::map<int64_t, Ran> ran_;  // by kernel
  std::map<std::string, size_t> first_function_, last_function_;
};

Result<SourceInput> of_trace(const std::string& path, const std::string& target,
                             const NameChoice& wanted) {
  store::LoadOptions options;
  options.apis = options.copies_and_launches = options.monitors = options.counters = false;
  options.dispatches = true;
  const Result<store::Trace> trace = load_trace(path, options);
  if (!trace.ok()) return trace.error();
  if (trace->code_objects.empty())
    return errorf("%s: it names no code objects; only wavetap's own traces do", path.c_str());
  return TraceReader(*trace, target, wanted).read();
}

// The site at an offset from the function's first instruction.
std::optional<uint32_t> site_at(const SourceFunction& function, const Json& item) {
  const std::vector<inspect::ListedSite>& sites = function.listing.sites;
  if (!item.is_object() || !item.contains("offset") || sites.empty()) return std::nullopt;
  const uint64_t wanted = sites.front().address + item.value("offset", uint64_t{0});
  const auto found = std::lower_bound(
      sites.begin(), sites.end(), wanted,
      [](const inspect::ListedSite& site, uint64_t address) { return site.address < address; });
  if (found == sites.end() || found->address != wanted) return std::nullopt;
  return static_cast<uint32_t>(found - sites.begin());
}

// Executions by block, figures of memory by access. False when nothing fits.
bool add_counted(const Json& dispatch, SourceFunction& function) {
  bool any = false;
  const auto number = [](const Json& item, const char* key) {
    return item.value(key, uint64_t{0});
  };
  for (const Json& block : dispatch.value("blocks", Json::array())) {
    const std::optional<uint32_t> first = site_at(function, block);
    if (!first) continue;
    const uint64_t count =
        std::min<uint64_t>(number(block, "instructions"), function.listing.sites.size() - *first);
    for (uint32_t i = 0; i < count; ++i)
      function.figures[*first + i].count += number(block, "executed");
    any = true;
  }
  for (const Json& access : dispatch.value("accesses", Json::array())) {
    const std::optional<uint32_t> site = site_at(function, access);
    if (!site) continue;
    inspect::SiteFigures& figures = function.figures[*site];
    figures.lanes += number(access, "lanes");
    figures.lines += number(access, "lines");
    figures.ideal_lines += number(access, "lines_ideal");
    figures.lds_cycles += number(access, "lds_cycles");
    any = true;
  }
  return any;
}

// From a file of run --counters --caches.
Status add_counters(const std::string& path, SourceInput& input) {
  const Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  const Json document = util::read_json({text, bytes->size()});
  const auto list = document.is_object() ? document.find("dispatches") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array())
    return errorf("%s: not a file of counters; make it with wavetap run --counters FILE --caches",
                  path.c_str());
  bool any = false;
  for (const Json& dispatch : *list)
    for (SourceFunction& function : input.functions) {
      if (!dispatch.is_object() || !function.is_kernel ||
          function.name != dispatch.value("kernel", ""))
        continue;
      if (!dispatch.contains("target") ||
          dispatch["target"] == Json(amd::to_string(function.listing.target)))
        any = add_counted(dispatch, function) || any;
    }
  if (!any)
    return errorf(
        "%s: nothing in it was counted in these kernels; make it with wavetap run --counters FILE "
        "--caches, of the same program",
        path.c_str());
  return {};
}

Result<SourceInput> of_file(const std::string& path, const std::string& target,
                            const NameChoice& wanted) {
  const Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(path);
  if (!file.ok()) return file.error();
  SourceInput input;
  input.problems = (*file)->problems;
  for (const codeobj::CodeObject& object : (*file)->objects)
    add_object(object, path, target, wanted, input.functions);
  return input;
}

}  // namespace

Result<SourceInput> read_source_input(const std::string& path, const std::string& target,
                                      const std::string& counters, const NameChoice& wanted) {
  std::error_code error;
  Result<SourceInput> input = std::filesystem::is_directory(path, error) ? of_probe(path)
                              : replay::is_capture_file(path) ? of_capture(path, target, wanted)
                              : path.ends_with(".rpd")        ? of_trace(path, target, wanted)
                                                              : of_file(path, target, wanted);
  if (!input.ok() || counters.empty()) return input;
  if (const Status added = add_counters(counters, *input); !added.ok()) return added.error();
  return input;
}

}  // namespace wavetap::cli
