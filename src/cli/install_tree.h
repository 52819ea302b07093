// Where the files that belong to this executable are. The build tree and an installed tree have the
// same shape, so one rule serves both:
//
//   <root>/bin/wavetap
//   <root>/bin/wavetap-trial
//   <root>/lib/libwavetap.so
//   <root>/lib/libwavetap_gpu.so
//   <root>/lib/wavetap/roctx/libroctx64.so.4
//   <root>/share/wavetap/models/*.gpu
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace wavetap::cli {

std::string models_folder();

// Paths of the libraries to preload: the virtual GPU, the recorder. An error when it is not there.
Result<std::string> gpu_library();
// The compiler that `mode`, of --gpu-jit or --jit, asks for: empty when it is "off".
Result<std::string> library_for_jit(const std::string& mode);
// Where it keeps what it has compiled; empty when nothing is to be kept, or, which it warns of, there
// is no place for it.
std::string jit_cache_folder(const std::string& mode);
// Where results of AMD's compiler library are kept (vgpu/compile_cache.h); empty when there is no place for them.
std::string compile_cache_folder();
Result<std::string> agent_library();

// The folder of a libroctx64.so.4 for systems that have none; an error when it is not there.
Result<std::string> roctx_folder();

// The program that touches the GPU for `wavetap doctor`; an error when it is not there.
Result<std::string> trial_program();

// The libraries for `run --correct-device` and `doctor --redirects`; errors when they are not
// there.
Result<std::string> correct_library();
Result<std::string> audit_library();

// A model by the name or path the user gave. The error lists the known names, nearest first.
Result<model::Model> find_model(const std::string& name);

}  // namespace wavetap::cli
