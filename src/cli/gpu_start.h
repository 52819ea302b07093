// What every command shares that starts a program on virtual GPUs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "format/launch_list.h"
#include "model/model.h"

namespace wavetap::cli {

// The models that --gpu names, each time a list separated by commas.
Result<std::vector<model::Model>> find_models(const std::vector<std::string>& names);

// -k REGEX: POSIX extended, as the library in the program reads it.
// `shown`: what the user wrote, where `pattern` was made of it.
Status check_kernel_pattern(const std::string& pattern, const std::string& shown = "");

// --launch N[,N-M…].
Result<format::LaunchList> parse_launches(const std::string& text);

// The tools that ROCr is asked to load anyway; "" for none.
std::string tools_asked_for();
// HSA_TOOLS_LIB for a program: those, ours behind them.
std::string tools_list(const std::string& library);
// That of a program on virtual GPUs: the library that plays them comes before the others, whose functions its own then
// enclose. It is there that threads sleep while they wait for the GPU.
std::string tools_with_gpu(const std::string& gpu_library, const std::string& others);

// The help of --gpu-option, from the driver's own table.
std::string driver_option_help();

// LD_PRELOAD and HSA_TOOLS_LIB separate by spaces and colons, so a library whose path holds one is
// reached by a link in the run folder.
Result<std::string> preloadable(const std::string& library, const std::string& run_dir);

// LD_PRELOAD for a program. Each once: the virtual GPU and the correction of device figures in front
// of what is there already, the recorder behind it. A library of the user's that stands before HIP
// functions itself is called first then, as it is without us, and finds ours where it looks for the
// next.
std::string preload_list(const std::string& gpu, const std::string& correct,
                         const std::string& agent);

}  // namespace wavetap::cli
