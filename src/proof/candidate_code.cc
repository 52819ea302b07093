#include "proof/candidate_code.h"

#include "amd/gfx_target.h"
#include "util/file.h"

namespace wavetap::proof {

Result<std::unique_ptr<CandidateCode>> open_candidate(const std::string& path,
                                                      const replay::Capture& capture,
                                                      const replay::CapturedKernel& captured) {
  if (captured.kernel == nullptr)
    return errorf("%s: the captured kernel belongs to the runtime; capture one of the program's",
                  path.c_str());
  auto code = std::make_unique<CandidateCode>();
  Result<std::vector<std::byte>> bytes = util::read_file(path);
  if (!bytes.ok()) return bytes.error();
  code->file = std::move(*bytes);
  code->contents = codeobj::find_code_objects(code->file);
  for (const codeobj::ContainedCodeObject& found : code->contents.code_objects) {
    Result<codeobj::CodeObject> object = codeobj::CodeObject::open(found.bytes);
    if (!object.ok() || object->target() != capture.target) continue;
    auto kept = std::make_unique<codeobj::CodeObject>(std::move(*object));
    code->kernel = kept->find_kernel(captured.kernel->name);
    if (code->kernel == nullptr) continue;
    code->object = std::move(kept);
    return code;
  }
  return errorf("no kernel %s for %s in what was built", captured.kernel->name.c_str(),
                amd::to_string(capture.target).c_str());
}

}  // namespace wavetap::proof
