// redirects: which library really answered each GPU API the program asked for. A CUDA program on an
// AMD GPU reaches it through libraries that stand in for NVIDIA's: a translation layer that calls
// itself libcuda, a HIP runtime that answers CUDA names too, two copies of one runtime of which one
// wins. The recorder writes one row per library the dynamic loader brought in, with the API
// families it answers for; this analysis puts them in the order of the layers
//
//   CUDA -> HIP -> HSA -> driver
//
// Who answers a family is a fact of the recording. That a library then calls the layer below it is
// inferred from both being loaded, and marked so.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "util/text.h"

namespace wavetap::analysis {
namespace {

enum class Layer : uint8_t { kCuda, kHip, kHsa, kDriver, kOther };
constexpr std::array<const char*, 5> kLayerNames = {"CUDA", "HIP", "HSA", "driver", "other"};

// The HIP library that does the work of a CUDA one; the runtime when there is no closer match.
struct Counterpart {
  std::string_view cuda, hip;
};
constexpr Counterpart kCounterparts[] = {
    {"libcublas", "librocblas"},     {"libcublas", "libhipblas"},
    {"libcublasLt", "libhipblaslt"}, {"libcudnn", "libMIOpen"},
    {"libcufft", "librocfft"},       {"libcufft", "libhipfft"},
    {"libcurand", "librocrand"},     {"libcurand", "libhiprand"},
    {"libcusparse", "librocsparse"}, {"libcusparse", "libhipsparse"},
    {"libcusolver", "librocsolver"}, {"libcusolver", "libhipsolver"},
    {"libnccl", "librccl"},          {"libnvrtc", "libhiprtc"},
    {"libnvToolsExt", "libroctx64"},
};

// "libcuda.so.1" and "/usr/lib/libcuda.so.525.60" are both "libcuda".
std::string family_of(std::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  return std::string(name.substr(0, name.find(".so")));
}

Layer layer_of(std::string_view family) {
  const auto starts = [&](std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return family.starts_with(prefix); });
  };
  if (starts({"libcu", "libnv", "libnccl"})) return Layer::kCuda;
  if (starts({"libamdhip", "libhip", "libroc", "libMIOpen", "librccl"})) return Layer::kHip;
  if (starts({"libhsa-runtime"})) return Layer::kHsa;
  if (starts({"libhsakmt", "libdrm", "libwavetap_gpu"})) return Layer::kDriver;
  return Layer::kOther;
}

struct Library {
  std::string_view path, soname, how;
  int64_t time = 0;
  std::string family;
  std::vector<std::string> answers;  // families
  // The name it goes by: its own, or that of its file.
  std::string label() const {
    return std::string(soname.empty() ? path.substr(path.rfind('/') + 1) : soname);
  }
};

struct RedirectEdge {
  std::string from, to;
  bool inferred = false;
  auto operator<=>(const RedirectEdge&) const = default;
};

struct Answer {
  std::string family;
  const Library* library = nullptr;
};

struct Process {
  int64_t pid = 0;
  std::vector<Library> libraries;  // in load order
  std::vector<Answer> answers;     // by layer, then family
  std::set<RedirectEdge> edges;

  const Library* find_layer(Layer layer) const {
    for (const Library& library : libraries)
      if (layer_of(library.family) == layer) return &library;
    return nullptr;
  }
  const Library* find_family(std::string_view family) const {
    for (const Library& library : libraries)
      if (library.family == family) return &library;
    return nullptr;
  }
};

// What a library of one layer most likely calls of the layers below; nothing when none of them is
// loaded.
const Library* next_below(const Process& process, const Library& library) {
  const Layer layer = layer_of(library.family);
  if (layer == Layer::kOther || layer == Layer::kDriver) return nullptr;
  if (layer == Layer::kCuda) {
    for (const Counterpart& pair : kCounterparts)
      if (pair.cuda == library.family)
        if (const Library* found = process.find_family(pair.hip)) return found;
    if (const Library* runtime = process.find_family("libamdhip64")) return runtime;
  }
  if (layer == Layer::kHip && library.family != "libamdhip64")
    if (const Library* runtime = process.find_family("libamdhip64")) return runtime;
  for (auto below = static_cast<uint8_t>(layer) + 1; below < static_cast<uint8_t>(Layer::kOther);
       ++below) {
    // The driver of a virtual GPU is the last word, whatever else is loaded.
    if (static_cast<Layer>(below) == Layer::kDriver)
      if (const Library* gpu = process.find_family("libwavetap_gpu")) return gpu;
    if (const Library* found = process.find_layer(static_cast<Layer>(below))) return found;
  }
  return nullptr;
}

std::vector<Process> find_processes(const store::Trace& trace) {
  std::map<int64_t, Process> by_pid;
  for (const store::LibraryEvent& event : trace.libraries) {
    Process& process = by_pid[event.pid];
    process.pid = event.pid;
    const std::string_view path = trace.str(event.path);
    // A library that is opened again is not loaded again.
    if (std::any_of(process.libraries.begin(), process.libraries.end(),
                    [&](const Library& l) { return l.path == path; }))
      continue;
    Library library{path, trace.str(event.soname), trace.str(event.how), event.time, "", {}};
    library.family = family_of(library.label());
    for (std::string& family : util::split(trace.str(event.answers_for), ' '))
      if (!family.empty()) library.answers.push_back(std::move(family));
    process.libraries.push_back(std::move(library));
  }
  std::vector<Process> out;
  for (auto& [pid, process] : by_pid) {
    for (const Library& library : process.libraries) {
      for (const std::string& family : library.answers) {
        process.answers.push_back({family, &library});
        if (family != library.family) process.edges.insert({family, library.label(), false});
      }
      if (const Library* below = next_below(process, library);
          below != nullptr && !library.answers.empty())
        process.edges.insert({library.label(), below->label(), true});
    }
    std::stable_sort(process.answers.begin(), process.answers.end(),
                     [](const Answer& a, const Answer& b) {
                       return std::pair(layer_of(a.family), std::string_view(a.family)) <
                              std::pair(layer_of(b.family), std::string_view(b.family));
                     });
    out.push_back(std::move(process));
  }
  return out;
}

// "libcuda.so.1 > libamdhip64.so.5 > libhsa-runtime64.so.1"
std::string chain_text(const Process& process, const Library& first) {
  std::string text = first.label();
  const Library* at = &first;
  for (int steps = 0; steps < 8; ++steps) {
    at = next_below(process, *at);
    if (at == nullptr) break;
    text += " ⇢ " + at->label();
  }
  return text;
}

// Who ends up with the program's CUDA calls, or its HIP calls when it makes none.
std::string verdict_of(const Process& process) {
  const Library* cuda = nullptr;
  for (const Answer& answer : process.answers)
    if (layer_of(answer.family) == Layer::kCuda && (cuda == nullptr || answer.family == "libcuda"))
      cuda = answer.library;
  if (cuda != nullptr) return "CUDA: " + chain_text(process, *cuda);
  if (const Library* hip = process.find_layer(Layer::kHip))
    return "HIP: " + chain_text(process, *hip);
  return "no CUDA and no HIP library was loaded";
}

// Whether a family's calls end where its name says.
const char* redirection(const Process& process, const Answer& answer) {
  if (answer.family != answer.library->family) return "yes";
  const Library* below = next_below(process, *answer.library);
  const bool translated = layer_of(answer.family) == Layer::kCuda && below != nullptr;
  return translated ? "inferred" : "no";
}

Table process_table(const std::vector<Process>& processes) {
  Table table{.name = "processes",
              .title = "Where calls end up",
              .columns = {{"pid", "PID", Unit::kCount},
                          {"libraries", "LIBRARIES", Unit::kCount, true},
                          {"verdict", "CHAIN"}}};
  for (const Process& process : processes)
    table.rows.push_back(
        {process.pid, static_cast<int64_t>(process.libraries.size()), verdict_of(process)});
  return table;
}

Table answer_table(const std::vector<Process>& processes) {
  Table table{.name = "answers",
              .title = "Who answers which API",
              .columns = {{"pid", "PID", Unit::kCount},
                          {"layer", "LAYER"},
                          {"family", "ASKED FOR"},
                          {"library", "ANSWERED BY"},
                          {"redirected", "REDIRECTED"}}};
  for (const Process& process : processes)
    for (const Answer& answer : process.answers)
      table.rows.push_back(
          {process.pid, std::string(kLayerNames[static_cast<size_t>(layer_of(answer.family))]),
           answer.family, answer.library->label(), std::string(redirection(process, answer))});
  return table;
}

Table edge_table(const std::vector<Process>& processes) {
  Table table{
      .name = "edges",
      .title = "Edges",
      .columns = {{"pid", "PID", Unit::kCount}, {"from", "FROM"}, {"to", "TO"}, {"kind", "KIND"}}};
  for (const Process& process : processes)
    for (const RedirectEdge& edge : process.edges)
      table.rows.push_back({process.pid, edge.from, edge.to,
                            std::string(edge.inferred ? "calls (inferred)" : "is answered by")});
  return table;
}

// Counts in `others` what has nothing to do with GPUs.
Table library_table(const std::vector<Process>& processes, const Span& span, const Options& options,
                    uint64_t& others) {
  Table table{.name = "libraries",
              .title = "GPU libraries in load order",
              .columns = {{"pid", "PID", Unit::kCount},
                          {"at_ns", "AT", Unit::kTime},
                          {"how", "HOW"},
                          {"soname", "LIBRARY"},
                          {"path", "PATH"}}};
  for (const Process& process : processes)
    for (const Library& library : process.libraries) {
      if (library.answers.empty() && layer_of(library.family) == Layer::kOther) {
        ++others;
        continue;
      }
      table.rows.push_back({process.pid, library.time - span.begin, std::string(library.how),
                            library.label(), std::string(library.path)});
    }
  cut_to_top(table, options);
  return table;
}

// Families that more than one library of a process answers for.
std::vector<std::string> ambiguities(const std::vector<Process>& processes) {
  std::vector<std::string> out;
  for (const Process& process : processes) {
    std::map<std::string, int> owners;
    for (const Answer& answer : process.answers) ++owners[answer.family];
    for (const auto& [family, count] : owners)
      if (count > 1)
        out.push_back("process " + std::to_string(process.pid) + ": " + std::to_string(count) +
                      " libraries answer for " + family + "; calls may reach either");
  }
  return out;
}

Result<Report> analyze_redirects(const store::Trace& trace, const Options& options) {
  const std::vector<Process> processes = find_processes(trace);
  Report report;
  if (processes.empty()) {
    report.warnings.push_back(
        "the trace holds no loader events; record it with `wavetap run`, which writes them");
    return report;
  }
  uint64_t others = 0;
  report.warnings = ambiguities(processes);
  report.tables = {process_table(processes), answer_table(processes)};
  if (Table edges = edge_table(processes); !edges.rows.empty())
    report.tables.push_back(std::move(edges));
  report.tables.push_back(library_table(processes, trace_span(trace), options, others));
  if (others > 0)
    report.notes.push_back(util::count_of(others, "other object") + " loaded, not listed");
  report.notes.push_back(
      "who answers an API is recorded; that a library then calls the one below it (⇢) is inferred "
      "from both being loaded");
  return report;
}

// A name as a quoted string, for DOT and for Mermaid.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : util::escape_control(text)) out += c == '"' ? '\'' : c;
  return out + "\"";
}

// One node per API family that is redirected and per library that answers or is called; an edge
// drawn solid is a fact, a dashed one inferred.
Result<std::string> draw(const store::Trace& trace, const Options&, Diagram kind) {
  const std::vector<Process> processes = find_processes(trace);
  if (processes.empty())
    return errorf("%s: holds no loader events; record it with `wavetap run`, which writes them",
                  trace.path.c_str());
  const bool dot = kind == Diagram::kDot;
  std::string out =
      dot ? "digraph redirects {\n  rankdir=LR;\n  node [shape=box];\n" : "flowchart LR\n";
  size_t next = 0;
  for (const Process& process : processes) {
    std::map<std::string, std::string> nodes;
    std::set<std::string> asked;
    for (const RedirectEdge& edge : process.edges) {
      if (!edge.inferred) asked.insert(edge.from);
      nodes.emplace(edge.from, "");
      nodes.emplace(edge.to, "");
    }
    for (const Answer& answer : process.answers) nodes.emplace(answer.library->label(), "");
    const std::string title = in_quotes("process " + std::to_string(process.pid));
    out +=
        dot ? "  subgraph cluster_" + std::to_string(process.pid) + " {\n    label=" + title + ";\n"
            : "  subgraph p" + std::to_string(process.pid) + "[" + title + "]\n";
    for (auto& [name, id] : nodes) {
      id = "n" + std::to_string(next++);
      if (dot)
        out += "    " + id + " [label=" + in_quotes(name) +
               (asked.contains(name) ? ", shape=ellipse" : "") + "];\n";
      else
        out += "    " + id + (asked.contains(name) ? "(" : "[") + in_quotes(name) +
               (asked.contains(name) ? ")" : "]") + "\n";
    }
    for (const RedirectEdge& edge : process.edges) {
      if (dot)
        out += "    " + nodes[edge.from] + " -> " + nodes[edge.to] +
               (edge.inferred ? " [style=dashed]" : "") + ";\n";
      else
        out += "    " + nodes[edge.from] + (edge.inferred ? " -.-> " : " --> ") + nodes[edge.to] +
               "\n";
    }
    out += dot ? "  }\n" : "  end\n";
  }
  return out + (dot ? "}\n" : "");
}

}  // namespace

extern const Analysis kRedirects{.name = "redirects",
                                 .help = "which library really answered CUDA, HIP and HSA",
                                 .run = analyze_redirects,
                                 .draw = draw};

}  // namespace wavetap::analysis
