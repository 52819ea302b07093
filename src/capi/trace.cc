// include/wavetap/trace.h over store and analysis. The columns are those of store::Trace, handed
// out where they lie; only what C cannot index (process and thread of a call, zero-ended texts) is
// made beside them, once, when opened.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/render.h"
#include "analysis/report.h"
#include "store/trace.h"
#include "wavetap/trace.h"

#define WT_API extern "C" __attribute__((visibility("default")))

using wavetap::Error;
using wavetap::Result;
namespace store = wavetap::store;
namespace analysis = wavetap::analysis;

struct wavetap_trace {
  store::Trace trace;
  std::vector<int64_t> pid, tid;  // per call
  std::deque<std::string> texts;  // zero-ended, by Str
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::vector<wavetap_column>> tables;
};

namespace {

thread_local std::string t_error;

template <class T>
constexpr wavetap_type type_of() {
  if constexpr (sizeof(T) == 8) return WAVETAP_INT64;
  if constexpr (sizeof(T) == 1) return WAVETAP_BOOL;
  return std::is_signed_v<T> ? WAVETAP_INT32 : WAVETAP_STRING;
}

template <class T>
wavetap_column column(const char* name, const std::vector<T>& values,
                      wavetap_type type = type_of<T>()) {
  return {name, type, values.empty() ? nullptr : static_cast<const void*>(values.data()),
          sizeof(T)};
}

// A field of a vector of structs.
template <class S, class T>
wavetap_column field(const char* name, const std::vector<S>& rows, T S::*member,
                     wavetap_type type = type_of<T>()) {
  return {name, type, rows.empty() ? nullptr : static_cast<const void*>(&(rows.front().*member)),
          sizeof(S)};
}

// One element of a field that is an array of three.
wavetap_column axis(const char* name, const std::vector<store::KernelLaunch>& rows,
                    int32_t (store::KernelLaunch::*member)[3], int i) {
  return {name, WAVETAP_INT32,
          rows.empty() ? nullptr : static_cast<const void*>(&(rows.front().*member)[i]),
          sizeof(store::KernelLaunch)};
}

void list_columns(wavetap_trace& t) {
  const store::Apis& a = t.trace.apis;
  const store::Ops& o = t.trace.ops;
  const store::Links& l = t.trace.links;
  using K = store::KernelLaunch;
  using C = store::Copy;
  using M = store::Monitor;
  using F = store::StackFrame;
  using L = store::LibraryEvent;
  const std::vector<K>& k = t.trace.launches;
  const std::vector<C>& c = t.trace.copies;
  const std::vector<M>& m = t.trace.monitors;
  const std::vector<F>& f = t.trace.stack_frames;
  const std::vector<L>& b = t.trace.libraries;
  t.tables = {
      {column("id", a.id),
       column("pid", t.pid),
       column("tid", t.tid),
       column("start", a.start),
       column("end", a.end),
       column("name", a.name),
       column("domain", a.domain),
       column("category", a.category),
       {"args", WAVETAP_ARGS, nullptr, 0}},
      {column("id", o.id), column("gpu", o.gpu), column("queue", o.queue),
       column("sequence", o.sequence), column("start", o.start), column("end", o.end),
       column("description", o.description), column("type", o.type)},
      {column("id", l.id), column("call", l.api, WAVETAP_ROW), column("op", l.op, WAVETAP_ROW)},
      {field("call", k, &K::api, WAVETAP_ROW), field("stream", k, &K::stream),
       axis("grid_x", k, &K::grid, 0), axis("grid_y", k, &K::grid, 1),
       axis("grid_z", k, &K::grid, 2), axis("workgroup_x", k, &K::workgroup, 0),
       axis("workgroup_y", k, &K::workgroup, 1), axis("workgroup_z", k, &K::workgroup, 2),
       field("group_segment_bytes", k, &K::group_segment_bytes),
       field("private_segment_bytes", k, &K::private_segment_bytes),
       field("kernel", k, &K::kernel)},
      {field("call", c, &C::api, WAVETAP_ROW), field("stream", c, &C::stream),
       field("size_bytes", c, &C::size_bytes), field("width", c, &C::width),
       field("height", c, &C::height), field("kind", c, &C::kind), field("dst", c, &C::dst),
       field("src", c, &C::src), field("dst_device", c, &C::dst_device),
       field("src_device", c, &C::src_device), field("sync", c, &C::sync),
       field("pinned", c, &C::pinned)},
      {field("device_type", m, &M::device_type), field("device", m, &M::device),
       field("type", m, &M::type), field("start", m, &M::start), field("end", m, &M::end),
       field("value", m, &M::value)},
      {field("call", f, &F::api, WAVETAP_ROW), field("depth", f, &F::depth),
       field("name", f, &F::name)},
      {field("pid", b, &L::pid), field("time", b, &L::time), field("path", b, &L::path),
       field("soname", b, &L::soname), field("build_id", b, &L::build_id),
       field("answers_for", b, &L::answers_for), field("how", b, &L::how)},
  };
}

size_t rows_of(const store::Trace& trace, wavetap_table table) {
  switch (table) {
    case WAVETAP_CALLS: return trace.apis.size();
    case WAVETAP_OPS: return trace.ops.size();
    case WAVETAP_LINKS: return trace.links.size();
    case WAVETAP_LAUNCHES: return trace.launches.size();
    case WAVETAP_COPIES: return trace.copies.size();
    case WAVETAP_MONITORS: return trace.monitors.size();
    case WAVETAP_STACK_FRAMES: return trace.stack_frames.size();
    case WAVETAP_LIBRARIES: return trace.libraries.size();
  }
  return 0;
}

wavetap_trace* open_trace(const char* path, unsigned flags) {
  store::LoadOptions options;
  options.args = (flags & WAVETAP_TRACE_NO_ARGS) == 0;
  options.stack_frames = (flags & WAVETAP_TRACE_STACK_FRAMES) != 0;
  Result<store::Trace> loaded = store::Trace::load(path, options);
  if (!loaded.ok()) {
    t_error = loaded.error().message;
    return nullptr;
  }
  auto out = std::make_unique<wavetap_trace>();
  out->trace = std::move(*loaded);
  out->pid.reserve(out->trace.apis.size());
  out->tid.reserve(out->trace.apis.size());
  for (const uint32_t thread : out->trace.apis.thread) {
    out->pid.push_back(out->trace.threads[thread].pid);
    out->tid.push_back(out->trace.threads[thread].tid);
  }
  for (store::Str s = 0; s < out->trace.strings.size(); ++s)
    out->texts.emplace_back(out->trace.str(s));
  out->metadata.assign(out->trace.metadata.begin(), out->trace.metadata.end());
  list_columns(*out);
  return out.release();
}

Result<std::string> analyze(const store::Trace& trace, std::string_view name, size_t top,
                            std::string_view settings) {
  analysis::Options options;
  options.top = top;
  while (!settings.empty()) {
    const std::string_view line = settings.substr(0, settings.find('\n'));
    settings.remove_prefix(std::min(settings.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return wavetap::errorf("%.*s: not key=value", static_cast<int>(line.size()), line.data());
    options.settings[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  analysis::Report report;
  if (name == "report") {
    report = analysis::build_report(trace, options, analysis::ReportBy::kOverview);
  } else {
    const analysis::Analysis* chosen = analysis::find_analysis(name);
    if (chosen == nullptr)
      return wavetap::errorf("%.*s: no such analysis", static_cast<int>(name.size()), name.data());
    Result<analysis::Report> result = chosen->run(trace, options);
    if (!result.ok()) return result.error();
    report = std::move(*result);
    report.analysis = chosen->name;
    for (std::string& warning : analysis::trace_warnings(trace))
      report.warnings.push_back(std::move(warning));
  }
  return analysis::render_json(report, trace)
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Nothing is thrown into C: what std throws (in practice: no memory) becomes the error text.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  try {
    t_error.clear();
    return f();
  } catch (const std::exception& error) {
    t_error = error.what();
    return nullptr;
  }
}

}  // namespace

WT_API int wavetap_trace_version(void) { return WAVETAP_TRACE_VERSION; }

WT_API wavetap_trace* wavetap_trace_open(const char* path, unsigned flags) {
  return guarded([&] { return open_trace(path == nullptr ? "" : path, flags); });
}

WT_API void wavetap_trace_close(wavetap_trace* trace) { delete trace; }

WT_API const char* wavetap_trace_error(void) { return t_error.c_str(); }

WT_API size_t wavetap_trace_rows(const wavetap_trace* trace, wavetap_table table) {
  return rows_of(trace->trace, table);
}

WT_API size_t wavetap_trace_columns(const wavetap_trace* trace, wavetap_table table) {
  return static_cast<size_t>(table) < trace->tables.size() ? trace->tables[table].size() : 0;
}

WT_API int wavetap_trace_column(const wavetap_trace* trace, wavetap_table table, size_t index,
                                wavetap_column* column) {
  if (index >= wavetap_trace_columns(trace, table)) return -1;
  *column = trace->tables[table][index];
  return 0;
}

WT_API const char* wavetap_trace_string(const wavetap_trace* trace, uint32_t number,
                                        size_t* bytes) {
  const std::string& text = trace->texts[number < trace->texts.size() ? number : 0];
  if (bytes != nullptr) *bytes = text.size();
  return text.c_str();
}

WT_API const char* wavetap_trace_args(const wavetap_trace* trace, size_t call, size_t* bytes) {
  const std::string_view text =
      call < trace->trace.apis.size() ? trace->trace.args(call) : std::string_view();
  *bytes = text.size();
  return text.empty() ? "" : text.data();
}

WT_API int wavetap_trace_metadata(const wavetap_trace* trace, size_t index, const char** key,
                                  const char** value) {
  if (index >= trace->metadata.size()) return -1;
  *key = trace->metadata[index].first.c_str();
  *value = trace->metadata[index].second.c_str();
  return 0;
}

WT_API char* wavetap_trace_analyze(const wavetap_trace* trace, const char* name, size_t top,
                                   const char* settings) {
  return guarded([&]() -> char* {
    const Result<std::string> json =
        analyze(trace->trace, name, top, settings == nullptr ? "" : settings);
    if (json.ok()) return strdup((*json).c_str());
    t_error = json.error().message;
    return nullptr;
  });
}

WT_API void wavetap_trace_free(char* text) { std::free(text); }
