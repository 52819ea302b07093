#include "store/column_meaning.h"

#include <algorithm>
#include <iterator>

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
constexpr std::string_view kGpus[] = {"gpuId", "queueId", "deviceId"};
constexpr std::string_view kTimes[] = {"start",   "end",       "time",   "submitted",
                                       "created", "destroyed", "loaded", "unloaded"};

}  // namespace

bool is_trace_table(std::string_view table) {
  return table.starts_with("rocpd_") || table.starts_with("wavetap_");
}

Meaning meaning_of(std::string_view table, std::string_view column) {
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
