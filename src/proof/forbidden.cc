#include "proof/forbidden.h"

#include <algorithm>
#include <set>

#include "isa/program.h"
#include "proof/candidate_code.h"
#include "replay/captured_kernel.h"

namespace wavetap::proof {
namespace {

constexpr const char* kForbidden[] = {"s_memtime", "s_memrealtime", "s_getreg_b32",
                                      "s_setreg",  "s_sendmsg",     "s_trap",
                                      "s_setprio", "s_sethalt",     "s_ttracedata"};

// What compilers emit by themselves: where scratch lies, how numbers are rounded, the bounds of LDS, the end of a wave.
constexpr const char* kHarmless[] = {"HW_REG_FLAT_SCR", "HW_REG_MODE", "HW_REG_SH_MEM_BASES",
                                     "MSG_DEALLOC_VGPRS"};

// "s_getreg_b32 hwreg(HW_REG_HW_ID)" of "s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)"; "": nothing forbidden.
std::string forbidden_part(const std::string& text) {
  if (std::none_of(std::begin(kForbidden), std::end(kForbidden),
                   [&](const char* name) { return text.starts_with(name); }))
    return "";
  for (const char* name : kHarmless)
    if (text.find(name) != std::string::npos) return "";
  std::string part = text.substr(0, text.find(' '));
  for (const char* what : {"hwreg(", "sendmsg("})
    if (const size_t at = text.find(what); at != std::string::npos)
      part += " " + text.substr(at, text.find_first_of(",)", at) - at) + ")";
  return part;
}

// Forbidden instructions of a code object: of all its functions, since a kernel may call any of them.
std::set<std::string> forbidden_in(const codeobj::Kernel& kernel, amd::GfxTarget target) {
  std::set<std::string> found;
  const bool wave64 = kernel.wave64(target);
  const isa::Program program = isa::decode(kernel.code, {kernel.entry_address}, target, wave64);
  for (int32_t i = 0; i < program.size(); ++i) {
    const uint64_t offset = program.pc_of(i).value - kernel.entry_address;
    const std::string text =
        isa::disassemble(kernel.code.subspan(offset), target, wave64, program.pc_of(i));
    if (std::string part = forbidden_part(text); !part.empty()) found.insert(std::move(part));
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
