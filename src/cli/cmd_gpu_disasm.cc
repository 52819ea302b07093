// wavetap gpu disasm: device code as text, with branch targets as labels and a mark on what the
// engine cannot execute.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/command.h"
#include "emu/exec.h"
#include "isa/program.h"
#include "replay/device_file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct GpuDisasmOptions {
  std::string file;
  std::string kernel;
  std::string target;
  bool bytes = false;
};

std::string hex_bytes(std::span<const std::byte> bytes) {
  std::string text;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    text += fmt::format(" {:02X}{:02X}{:02X}{:02X}", std::to_integer<int>(bytes[i + 3]),
                        std::to_integer<int>(bytes[i + 2]), std::to_integer<int>(bytes[i + 1]),
                        std::to_integer<int>(bytes[i]));
  }
  return text;
}

void print_function(const replay::DeviceFunction& function, amd::GfxTarget target,
                    const GpuDisasmOptions& options) {
  const isa::Program program =
      isa::decode(function.code, {function.address}, target, function.wave64);
  std::map<int32_t, int> labels;  // instruction index -> label number, in address order
  for (int32_t i = 0; i < program.size(); ++i) {
    if (program.insts()[i].target >= 0) labels[program.insts()[i].target] = 0;
  }
  int number = 0;
  for (auto& [index, label] : labels) label = ++number;

  fmt::print("{} {}  ; {}, wave{}\n", function.kernel != nullptr ? "kernel" : "function",
             util::escape_control(function.name), amd::to_string(target),
             function.wave64 ? 64 : 32);
  for (int32_t i = 0; i < program.size(); ++i) {
    const isa::Inst& inst = program.insts()[i];
    if (inst.size_bytes == 0) continue;
    if (const auto label = labels.find(i); label != labels.end())
      fmt::print("L{}:\n", label->second);
    const GpuAddr pc = program.pc_of(i);
    const std::span<const std::byte> code = function.code.subspan(pc.value - function.address);
    std::string line =
        fmt::format("  {:06x}  {}", pc.value, isa::disassemble(code, target, function.wave64, pc));
    std::string note;
    if (inst.target >= 0 && labels.contains(inst.target))
      note += fmt::format(" -> L{}", labels[inst.target]);
    if (inst.op != isa::Op::kInvalid &&
        emu::find_handler(inst, {target, function.wave64}) == nullptr)
      note += " no semantics";
    if (options.bytes) note += hex_bytes(code.first(inst.size_bytes));
    fmt::print("{}\n", note.empty() ? line : fmt::format("{:<58} ;{}", line, note));
  }
  fmt::print("\n");
}

int disassemble(const GpuDisasmOptions& options) {
  const Result<std::unique_ptr<replay::DeviceFile>> file = replay::open_device_file(options.file);
  if (!file.ok()) return fail(file.error());
  for (const std::string& problem : (*file)->problems)
    warn({options.file + ": " + util::escape_control(problem)});

  if (!options.kernel.empty()) {
    const Result<std::vector<replay::FoundKernel>> found =
        replay::find_kernels(**file, options.kernel, options.target);
    if (!found.ok()) return fail(found.error());
    for (const replay::FoundKernel& match : *found) {
      for (const replay::DeviceFunction& function : replay::functions_of(*match.object)) {
        if (function.kernel == match.kernel)
          print_function(function, match.object->target(), options);
      }
    }
    return kDone;
  }
  bool any = false;
  for (const codeobj::CodeObject& object : (*file)->objects) {
    if (!replay::is_for(object, options.target)) continue;
    any = true;
    for (const replay::DeviceFunction& function : replay::functions_of(object))
      print_function(function, object.target(), options);
  }
  if (!any)
    return fail(errorf("%s: no code for %s; see wavetap gpu coverage %s for what it carries",
                       options.file.c_str(), options.target.c_str(), options.file.c_str()));
  return kDone;
}

}  // namespace

void add_gpu_disasm(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<GpuDisasmOptions>();
  Command& command =
      parent.add_command("disasm", "print device code as assembler text",
                         "gpu disasm FILE [KERNEL] [--target GFX] [--bytes]",
                         "  wavetap gpu disasm ./my_hip_program saxpy --target gfx1030\n"
                         "  wavetap gpu disasm kernels.hsaco\n");
  command
      .add_option("FILE", options->file, "a HIP program, library, offload bundle or code object")
      ->required();
  command.add_option("KERNEL", options->kernel,
                     "only this kernel, by its symbol or its name in the source");
  command.add_option("--target", options->target, "only code for this target, gfx1030 say")
      ->type_name("GFX");
  command.add_flag("--bytes", options->bytes, "print the encoding beside the text");
  command.callback([options, &invocation] { invocation.exit_code = disassemble(*options); });
}

}  // namespace wavetap::cli
