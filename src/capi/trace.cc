// include/wavetap/trace.h over store and analysis. The columns are those of store::Trace, handed
// out where they lie; only what C cannot index (process and thread of a call, zero-ended texts) is
// made beside them, once, when opened.
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/registry.h"
#include "analysis/render.h"
#include "analysis/report.h"
#include "doctor/trace_truth.h"
#include "model/model.h"
#include "store/trace.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"
#include "wavetap/trace.h"

#define WT_API extern "C" __attribute__((visibility("default")))

using wavetap::Error;
using wavetap::Result;
namespace store = wavetap::store;
namespace analysis = wavetap::analysis;
namespace fs = std::filesystem;

struct wavetap_trace {
  store::Trace trace;
  std::vector<int64_t> pid, tid;  // per call
  std::deque<std::string> texts;  // zero-ended, by Str
  std::vector<std::pair<std::string, std::string>> metadata;
  std::array<std::vector<wavetap_column>, WAVETAP_TABLE_COUNT> tables;
  std::array<size_t, WAVETAP_TABLE_COUNT> rows{};
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

// The number of a table that is loaded row by row.
template <class Row>
constexpr wavetap_table kTable = WAVETAP_CALLS;
#define WT_TABLE_NUMBER(Row, number) \
  template <>                        \
  constexpr wavetap_table kTable<store::Row> = number
WT_TABLE_NUMBER(Monitor, WAVETAP_MONITORS);
WT_TABLE_NUMBER(StackFrame, WAVETAP_STACK_FRAMES);
WT_TABLE_NUMBER(LibraryEvent, WAVETAP_LIBRARIES);
WT_TABLE_NUMBER(Counter, WAVETAP_COUNTERS);
WT_TABLE_NUMBER(ProcessRun, WAVETAP_PROCESSES);
WT_TABLE_NUMBER(ThreadName, WAVETAP_THREAD_NAMES);
WT_TABLE_NUMBER(DeviceUse, WAVETAP_DEVICES);
WT_TABLE_NUMBER(DeviceFigure, WAVETAP_DEVICE_FIGURES);
WT_TABLE_NUMBER(QueueUse, WAVETAP_QUEUES);
WT_TABLE_NUMBER(CodeObjectUse, WAVETAP_CODE_OBJECTS);
WT_TABLE_NUMBER(KernelUse, WAVETAP_KERNELS);
WT_TABLE_NUMBER(Dispatch, WAVETAP_DISPATCHES);
WT_TABLE_NUMBER(AllocationEvent, WAVETAP_ALLOCATIONS);
WT_TABLE_NUMBER(InflightWork, WAVETAP_INFLIGHT);
WT_TABLE_NUMBER(OpenCall, WAVETAP_OPEN_CALLS);
WT_TABLE_NUMBER(FaultEvent, WAVETAP_FAULTS);
WT_TABLE_NUMBER(ControlEvent, WAVETAP_CONTROLS);
WT_TABLE_NUMBER(LossEvent, WAVETAP_LOSSES);
WT_TABLE_NUMBER(SwapUse, WAVETAP_SWAPS);
#undef WT_TABLE_NUMBER
#define WT_LOADED_TABLE(name, Row, member, since, text) \
  static_assert(kTable<store::Row> != WAVETAP_CALLS, "include/wavetap/trace.h lacks a table");
#include "store/tables.inc"

template <store::ColumnKind K>
constexpr wavetap_type type_of_kind() {
  using enum store::ColumnKind;
  if constexpr (K == kCall || K == kOp) return WAVETAP_ROW;
  if constexpr (K == kReal) return WAVETAP_REAL;
  if constexpr (K == kAddress) return WAVETAP_ADDRESS;
  return type_of<store::Loaded<K>>();
}

// Rows of calls are called so in every table.
template <store::ColumnKind K>
constexpr const char* column_name(const char* member) {
  return K == store::ColumnKind::kCall ? "call" : member;
}

void list_loaded_columns(wavetap_trace& t) {
  // clang-format off
#define WT_TABLE(name, Row, since, text) /* by hand, in list_columns() */      \
  {                                                                            \
    using R = store::loaded_by_hand::Row;                                      \
    const std::vector<R> rows; std::vector<wavetap_column> columns;
#define WT_LOADED_TABLE(name, Row, member, since, text)                        \
  {                                                                            \
    using R = store::Row; const std::vector<R>& rows = t.trace.member;         \
    std::vector<wavetap_column>& columns = t.tables[kTable<R>];                \
    t.rows[kTable<R>] = rows.size();
#define WT_COLUMN(name, member, kind, sql, since, text)                        \
    columns.push_back(field(column_name<store::ColumnKind::kind>(#member),     \
                            rows, &R::member,                                  \
                            type_of_kind<store::ColumnKind::kind>()));
#define WT_END() }
#include "store/tables.inc"
  // clang-format on
}

void list_columns(wavetap_trace& t) {
  const store::Apis& a = t.trace.apis;
  const store::Ops& o = t.trace.ops;
  const store::Links& l = t.trace.links;
  using K = store::KernelLaunch;
  using C = store::Copy;
  const std::vector<K>& k = t.trace.launches;
  const std::vector<C>& c = t.trace.copies;
  t.tables[WAVETAP_CALLS] = {column("id", a.id),
                             column("pid", t.pid),
                             column("tid", t.tid),
                             column("start", a.start),
                             column("end", a.end),
                             column("name", a.name),
                             column("domain", a.domain),
                             column("category", a.category),
                             {"args", WAVETAP_ARGS, nullptr, 0}};
  t.tables[WAVETAP_OPS] = {column("id", o.id),
                           column("gpu", o.gpu),
                           column("queue", o.queue),
                           column("sequence", o.sequence),
                           column("start", o.start),
                           column("end", o.end),
                           column("description", o.description),
                           column("type", o.type)};
  t.tables[WAVETAP_LINKS] = {column("id", l.id), column("call", l.api, WAVETAP_ROW),
                             column("op", l.op, WAVETAP_ROW)};
  t.tables[WAVETAP_LAUNCHES] = {field("call", k, &K::api, WAVETAP_ROW),
                                field("stream", k, &K::stream),
                                axis("grid_x", k, &K::grid, 0),
                                axis("grid_y", k, &K::grid, 1),
                                axis("grid_z", k, &K::grid, 2),
                                axis("workgroup_x", k, &K::workgroup, 0),
                                axis("workgroup_y", k, &K::workgroup, 1),
                                axis("workgroup_z", k, &K::workgroup, 2),
                                field("group_segment_bytes", k, &K::group_segment_bytes),
                                field("private_segment_bytes", k, &K::private_segment_bytes),
                                field("kernel", k, &K::kernel)};
  t.tables[WAVETAP_COPIES] = {field("call", c, &C::api, WAVETAP_ROW),
                              field("stream", c, &C::stream),
                              field("size_bytes", c, &C::size_bytes),
                              field("width", c, &C::width),
                              field("height", c, &C::height),
                              field("kind", c, &C::kind),
                              field("dst", c, &C::dst),
                              field("src", c, &C::src),
                              field("dst_device", c, &C::dst_device),
                              field("src_device", c, &C::src_device),
                              field("sync", c, &C::sync),
                              field("pinned", c, &C::pinned)};
  t.rows[WAVETAP_CALLS] = a.size();
  t.rows[WAVETAP_OPS] = o.size();
  t.rows[WAVETAP_LINKS] = l.size();
  t.rows[WAVETAP_LAUNCHES] = k.size();
  t.rows[WAVETAP_COPIES] = c.size();
  list_loaded_columns(t);
}

wavetap_trace* open_trace(const char* path, unsigned flags) {
  store::LoadOptions options;
  options.args = (flags & WAVETAP_TRACE_NO_ARGS) == 0;
  options.stack_frames = (flags & WAVETAP_TRACE_STACK_FRAMES) != 0;
  options.dispatches = true;
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

// The published figures of GPUs, installed beside this library: <prefix>/share for one in <prefix>/lib or
// a folder of it.
std::string models_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&wavetap_trace_version), &info) == 0 ||
      info.dli_fname == nullptr)
    return "";
  std::error_code error;
  fs::path folder = fs::canonical(info.dli_fname, error).parent_path();
  for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    if (const fs::path models = folder / "share/wavetap/models"; fs::is_directory(models, error))
      return models.string();
  }
  return "";
}

// Lines of "key=value".
std::vector<std::string> assignments(std::string_view settings) {
  std::vector<std::string> out;
  for (std::string& line : wavetap::util::split(settings, '\n'))
    if (!line.empty()) out.push_back(std::move(line));
  return out;
}

Result<analysis::Report> run_by_name(const store::Trace& trace, std::string_view name,
                                     analysis::Options options, std::string_view settings) {
  const bool is_report = name == "report";
  const Result<const analysis::Analysis*> chosen =
      is_report ? Result<const analysis::Analysis*>(nullptr) : analysis::find_analysis(name);
  if (!chosen.ok()) return chosen.error();
  Result<analysis::Settings> parsed = analysis::Settings::parse(
      is_report ? std::span<const analysis::Setting>() : (*chosen)->settings, name,
      assignments(settings));
  if (!parsed.ok()) return parsed.error();
  options.settings = std::move(*parsed);
  if (is_report) {
    analysis::Report report = analysis::build_report(trace, options, analysis::ReportBy::kOverview);
    wavetap::doctor::add_device_truth(trace, wavetap::model::sound_models(models_folder()), report);
    return report;
  }
  return analysis::run_analysis(**chosen, trace, options);
}

Result<std::string> analyze(const store::Trace& trace, std::string_view name, size_t top,
                            std::string_view settings) {
  analysis::Options options;
  options.top = top;
  const Result<analysis::Report> report = run_by_name(trace, name, options, settings);
  if (!report.ok()) return report.error();
  return wavetap::util::json_line(analysis::render_json(*report, trace));
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
  return static_cast<size_t>(table) < trace->rows.size() ? trace->rows[table] : 0;
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
