#include "proof/forbidden.h"

#include <set>

#include "isa/program.h"
#include "proof/candidate_code.h"
#include "replay/captured_kernel.h"

namespace wavetap::proof {
namespace {

constexpr const char* kForbidden[] = {"s_memtime", "s_memrealtime", "s_getreg_b32",
                                      "s_setreg",  "s_sendmsg",     "s_trap",
                                      "s_setprio", "s_sethalt",     "s_ttracedata"};

// Forbidden instructions of a code object: of all its functions, since a kernel may call any of them.
std::set<std::string> forbidden_in(const codeobj::Kernel& kernel, amd::GfxTarget target) {
  std::set<std::string> found;
  const bool wave64 = kernel.wave64(target);
  const isa::Program program = isa::decode(kernel.code, {kernel.entry_address}, target, wave64);
  for (int32_t i = 0; i < program.size(); ++i) {
    const uint64_t offset = program.pc_of(i).value - kernel.entry_address;
    const std::string text =
        isa::disassemble(kernel.code.subspan(offset), target, wave64, program.pc_of(i));
    for (const char* name : kForbidden)
      if (text.starts_with(name)) found.insert(text.substr(0, text.find(' ')));
  }
  return found;
}

}  // namespace

std::string find_forbidden(const TrialOptions& options) {
  const Result<std::unique_ptr<replay::CaptureFile>> file = replay::CaptureFile::open(options.file);
  if (!file.ok()) return "";
  for (const replay::Capture& capture : (*file)->captures()) {
    if (capture.dispatch.capture != options.capture) continue;
    const replay::CapturedKernel captured = replay::find_captured_kernel(**file, capture);
    const auto code = open_candidate(options.code, capture, captured);
    if (!code.ok()) return "";
    const std::set<std::string> old = forbidden_in(*captured.kernel, capture.target);
    for (const std::string& name : forbidden_in(*(*code)->kernel, capture.target))
      if (!old.contains(name))
        return name +
               " is new: a kernel that computes needs no clock, no state of the hardware and "
               "no host";
  }
  return "";
}

}  // namespace wavetap::proof
