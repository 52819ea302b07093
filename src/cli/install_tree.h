// Where the files that belong to this executable are. The build tree and an installed tree have the
// same shape, so one rule serves both:
//
//   <root>/bin/wavetap
//   <root>/lib/libwavetap_gpu.so
//   <root>/share/wavetap/models/*.gpu
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vgpu/model.h"

namespace wavetap::cli {

std::string models_folder();

// The preload library's path; an error when it is not there.
Result<std::string> gpu_library();

// A model by the name or path the user gave. The error lists the known names, nearest first.
Result<vgpu::Model> find_model(const std::string& name);

}  // namespace wavetap::cli
