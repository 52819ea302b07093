#include "doctor/trial/trials.h"

namespace wavetap::doctor::trial {

const std::vector<Trial>& trials() {
  static const std::vector<Trial> all = {
      {"init", try_init},
      {"pools", try_pools},
      {"copy-engine", try_copy_engine},
      {"copy", try_copy},
      {"copy-on-device", try_copy_on_device},
      {"saxpy", try_saxpy},
      {"lds", try_lds},
      {"atomics", try_atomics},
      {"scratch", try_scratch},
      {"gemm", try_gemm},
      {"conv", try_conv},
      {"coherence", try_coherence},
      {"printf", try_printf},
  };
  return all;
}

}  // namespace wavetap::doctor::trial
