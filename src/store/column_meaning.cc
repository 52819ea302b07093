#include "store/column_meaning.h"

#include <algorithm>
#include <iterator>

#include "store/tables.h"

namespace wavetap::store {
namespace {

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

constexpr std::string_view kStrings[] = {"apiName_id",     "category_id", "domain_id",
                                         "description_id", "opType_id",   "kernelName_id",
                                         "name_id"};
constexpr std::string_view kProcesses[] = {"pid", "tid", "parent"};
constexpr std::string_view kGpus[] = {"gpuId", "queueId", "deviceId", "dstDevice", "srcDevice"};
constexpr std::string_view kTimes[] = {"start",   "end",       "time",   "submitted",
                                       "created", "destroyed", "loaded", "unloaded"};

Meaning meaning_of_kind(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kCall: return Meaning::kCall;
    case ColumnKind::kOp: return Meaning::kOp;
    case ColumnKind::kString: return Meaning::kString;
    case ColumnKind::kArgs: return Meaning::kText;
    case ColumnKind::kId: return Meaning::kId;
    case ColumnKind::kProcess: return Meaning::kProcess;
    case ColumnKind::kGpu: return Meaning::kGpu;
    case ColumnKind::kTime: return Meaning::kTime;
    case ColumnKind::kSession: return Meaning::kSession;
    case ColumnKind::kNumber:
    case ColumnKind::kReal:
    case ColumnKind::kFlag:
    case ColumnKind::kText:
    case ColumnKind::kAddress:
    case ColumnKind::kBlob: break;
  }
  return Meaning::kPlain;
}

}  // namespace

bool is_trace_table(std::string_view table) {
  return table.starts_with("rocpd_") || table.starts_with("wavetap_");
}

Meaning meaning_of(std::string_view table, std::string_view column) {
  if (const TableSpec* known = find_table(table); known != nullptr && table != "rocpd_metadata")
    for (const ColumnSpec& spec : known->columns)
      if (column == spec.name) return meaning_of_kind(spec.kind);
  return meaning_by_name(table, column);
}

Meaning meaning_by_name(std::string_view table, std::string_view column) {
  if (!is_trace_table(table) || table == "rocpd_metadata") return Meaning::kPlain;
  if (column == "id") {
    if (table == "rocpd_api") return Meaning::kCall;
    if (table == "rocpd_op") return Meaning::kOp;
    if (table == "rocpd_string") return Meaning::kString;
    if (table == "rocpd_ustring") return Meaning::kText;
    // Rows of these are numbered as the GPUs and queues they describe.
    if (table == "wavetap_device" || table == "wavetap_queue") return Meaning::kGpu;
    return Meaning::kId;
  }
  if (column == "api_id" || column == "api_ptr_id") return Meaning::kCall;
  if (column == "op_id") return Meaning::kOp;
  if (column == "args_id") return Meaning::kText;
  if (is_one_of(column, kStrings)) return Meaning::kString;
  if (is_one_of(column, kProcesses) || column.ends_with("_pid") || column.ends_with("_tid"))
    return Meaning::kProcess;
  if (is_one_of(column, kGpus)) return Meaning::kGpu;
  if (is_one_of(column, kTimes) || column.ends_with("_time")) return Meaning::kTime;
  if (column == "session") return Meaning::kSession;
  if (column.ends_with("_id") && column != "build_id") return Meaning::kId;
  return Meaning::kPlain;
}

}  // namespace wavetap::store
