#include "analysis/op_kind.h"

#include "amd/hip_calls.h"

namespace wavetap::analysis {

bool is_synchronising_call(std::string_view name) {
  // Its stream waits, not its thread; to whoever looks for a reason to wait that is the same.
  if (name == "hipStreamWaitEvent" || name == "cudaStreamWaitEvent") return true;
  if (const amd::HipCall* call = amd::find_hip_call(name)) return call->has(amd::kBlocking);
  // CUDA's driver interface, which has no twin in HIP: cuCtxSynchronize.
  return name.ends_with("Synchronize");
}

}  // namespace wavetap::analysis
