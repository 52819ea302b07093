// A manifest: a text file that says which kernel is replaced by what.
//
//   # kernels to try on the big problem
//   saxpy            tuned/saxpy.hsaco
//   "scale(float*, int)"  tuned/scale.co    kernel=scale_fast
//   gemm_*           tuned/gemm.hsaco       hash=8f1b2c3d4e5f6071 variables=own wave-size=any
//   *                tuned/all.hsaco
//   step_*           tuned/model.hsaco      object=whole
//
// A pattern, with * and ?, is compared with a kernel's symbol, its demangled and its short name. Paths
// are relative to the manifest. Each kernel of the file whose name fits runs in the place of the
// program's kernel with the same symbol; with `kernel`, that one runs in the place of every kernel of
// the program whose name fits. With `object`, a code object of the program that has a kernel whose name
// fits is not loaded, and the file's is in its place (whole.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "swap/offers.h"

namespace wavetap::swap {

// `folder`: what relative paths begin at. The error names the line.
Result<std::vector<Rule>> parse_manifest(std::string_view text, const std::string& folder);

}  // namespace wavetap::swap
