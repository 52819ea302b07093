// AMD's folder of a decoded thread trace, ui_output_agent_A_dispatch_D: what rocprofv3 --att leaves and
// rocprof-compute-viewer opens. Written for both, and read back, whoever wrote it.
//
// Traps of that viewer which the writer goes by: nothing behind the "se" that begins a wave's file name
// may contain "se"; stalls have 16 bits; the spans of a timeline add up to the wave's time; a row's line
// number is its third field and what waves name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "itrace/trace.h"

namespace wavetap::itrace {

inline constexpr uint32_t kMostStall = 0xffff;  // what the format's readers keep

// Writes FOLDER and, beside it, stats_NAME.csv. The folder is made.
Status write_ui_output(const Trace& trace, const std::string& folder);

// "ui_output_agent_1_dispatch_7".
std::string ui_output_name(uint64_t agent, uint64_t dispatch);

// A file of a folder by its name; nothing when it is not there.
using FileSource = std::function<std::optional<std::string>(const std::string& name)>;

// `shown` is how errors name the folder.
Result<Trace> read_ui_output(const FileSource& files, const std::string& shown);
Result<Trace> read_ui_output(const std::string& folder);
bool is_ui_output(const std::string& folder);

}  // namespace wavetap::itrace
