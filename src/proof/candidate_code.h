// The kernel of a candidate in a file, found by the captured kernel's name and target.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "codeobj/container.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"

namespace wavetap::proof {

struct CandidateCode {
  std::vector<std::byte> file;
  codeobj::ContainerContents contents;
  std::unique_ptr<codeobj::CodeObject> object;  // over `file` or `contents`
  const codeobj::Kernel* kernel = nullptr;
};

Result<std::unique_ptr<CandidateCode>> open_candidate(const std::string& path,
                                                      const replay::Capture& capture,
                                                      const replay::CapturedKernel& captured);

}  // namespace wavetap::proof
