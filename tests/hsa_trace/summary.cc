// Prints what a raw trace holds of the GPU's work, one "name number" per line.
//
//   hsa_trace_summary FOLDER
#include <cstdio>
#include <map>
#include <set>

#include "format/reader.h"

using namespace wavetap;

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  Result<format::SessionReader> session = format::SessionReader::open(argv[1]);
  if (!session.ok()) {
    std::fprintf(stderr, "hsa_trace_summary: %s: cannot be read\n", argv[1]);
    return 1;
  }
  std::map<std::string, uint64_t> counts;
  for (const char* name : {"dispatches", "timed", "named", "untimed", "copies", "copies_timed",
                           "owned", "losses", "faults", "calls", "backwards"}) {
    counts[name] = 0;
  }
  for (const format::ProcessStreams& process : session->processes()) {
    std::map<uint64_t, format::Kind> submitted;
    std::map<uint64_t, uint64_t> kernel_of;
    std::set<uint64_t> kernels;
    std::map<uint64_t, int64_t> durations;
    for (format::StreamReader* const stream : process.streams) {
      format::Record record;
      while (stream->next(record)) {
        using format::Kind;
        if (record.header.kind == Kind::kDispatch) {
          const auto& dispatch = *record.as<format::DispatchRecord>();
          ++counts["dispatches"];
          counts["untimed"] += (record.header.flags & format::kDispatchUntimed) != 0;
          counts["owned"] += dispatch.owner.call != 0;
          submitted[dispatch.id] = Kind::kDispatch;
          kernel_of[dispatch.id] = dispatch.kernel_object;
        } else if (record.header.kind == Kind::kCopy) {
          ++counts["copies"];
          submitted[record.as<format::CopyRecord>()->id] = Kind::kCopy;
        } else if (record.header.kind == Kind::kComplete) {
          const auto& complete = *record.as<format::CompleteRecord>();
          durations[complete.id] = complete.end_ns - complete.start_ns;
        } else if (record.header.kind == Kind::kKernel) {
          kernels.insert(record.as<format::KernelFact>()->kernel_object);
        } else if (record.header.kind == Kind::kLoss) {
          counts["losses"] += record.as<format::LossFact>()->count;
        } else if (record.header.kind == Kind::kFault) {
          ++counts["faults"];
        } else if (record.header.kind == Kind::kCall) {
          ++counts["calls"];
        }
      }
      counts["losses"] += stream->damage().missing_records;
    }
    for (const auto& [id, kind] : submitted) {
      if (durations.count(id) != 0)
        ++counts[kind == format::Kind::kDispatch ? "timed" : "copies_timed"];
    }
    for (const auto& [id, object] : kernel_of) counts["named"] += kernels.count(object);
    for (const auto& [id, duration] : durations) counts["backwards"] += duration < 0;
  }
  for (const auto& [name, count] : counts)
    std::printf("%s %lu\n", name.c_str(), static_cast<unsigned long>(count));
}
