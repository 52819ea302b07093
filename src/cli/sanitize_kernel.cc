#include "cli/sanitize_kernel.h"

#include <cstring>

#include "base/json_line.h"
#include "cli/capture_show.h"
#include "cli/sanitize_host.h"
#include "codeobj/source_map.h"
#include "isa/program.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

bool read(emu::Memory& memory, GpuAddr address, void* bytes, uint64_t size) {
  const emu::MappedRange range = memory.lookup(address);
  if (!range.contains(address.value, size)) return false;
  std::memcpy(bytes, range.host + (address.value - range.begin), size);
  return true;
}

// The instruction may be the last one mapped.
std::string instruction_at(const KernelNames& names, GpuAddr pc, bool wave64) {
  std::byte bytes[20];
  for (uint64_t size = sizeof bytes; size > 0; size -= 4)
    if (read(*names.memory, pc, bytes, size))
      return isa::disassemble({bytes, size}, names.target, wave64, pc);
  return "";
}

sanitize::CodePlace find_code(const KernelNames& names, GpuAddr pc) {
  sanitize::CodePlace place;
  amd::KernelDescriptor descriptor{};
  if (!read(*names.memory, names.kernel_object, &descriptor, sizeof descriptor)) return place;
  const GpuAddr entry = names.kernel_object + static_cast<uint64_t>(descriptor.entry_offset);
  if (pc.value >= entry.value) place.offset = pc.value - entry.value;
  const bool wave64 = !names.target.has_wave32() || !descriptor.has(amd::kWavefrontSize32);
  place.instruction = instruction_at(names, pc, wave64);
  if (names.object == nullptr) return place;
  place.frames = codeobj::SourceMap(names.object->elf()).frames(pc.value - names.load_delta);
  return place;
}

}  // namespace

void add_sanitize_option(Command& command, std::optional<std::string>& tools) {
  command
      .add_option("--sanitize", tools,
                  "check what the kernel does, as wavetap sanitize; exit status 2 if it is wrong")
      ->type_name("[TOOL,…]")
      ->expected(0, 1);
}

Result<std::optional<sanitize::ToolSet>> parse_sanitize(const std::optional<std::string>& tools) {
  if (!tools) return std::optional<sanitize::ToolSet>();
  if (tools->empty()) return std::optional(sanitize::ToolSet::dispatch_defaults());
  const Result<sanitize::ToolSet> parsed = sanitize::ToolSet::parse(*tools);
  if (!parsed.ok()) return errorf("--sanitize %s", parsed.error().message.c_str());
  if (looks_at_calls(*parsed))
    return errorf(
        "--sanitize %s: leakcheck and hostcheck look at a program's calls, and there is none; "
        "leave them out",
        tools->c_str());
  return std::optional(*parsed);
}

KernelNames names_of(replay::KernelRun& run) {
  KernelNames names;
  names.kernel = codeobj::demangle(run.kernel().name);
  names.target = run.object().target();
  names.memory = &run.memory();
  names.kernel_object = run.image() + run.kernel().descriptor_address;
  names.object = &run.object();
  names.load_delta = run.image().value;
  size_t number = 0;
  for (const codeobj::KernelArg& arg : run.kernel().args) {
    if (arg.is_hidden()) continue;
    if (const GpuAddr buffer = run.buffer(number); buffer.value != 0)
      names.pointers.push_back({number, arg.name, buffer.value});
    ++number;
  }
  return names;
}

KernelNames names_of(const replay::Capture& capture, const replay::CapturedKernel& kernel,
                     replay::CapturedMemory& memory, const replay::ReplayResult& result) {
  KernelNames names;
  names.kernel = capture.kernel;
  names.model = capture.model;
  names.target = capture.target;
  names.memory = &memory;
  names.kernel_object = result.kernel_object;
  // Another build's lines are not known.
  if (result.kernel_object.value == capture.dispatch.kernel_object) {
    names.object = kernel.object.get();
    names.load_delta = kernel.load_delta;
  }
  size_t number = 0;
  for (const replay::CapturedArgument& argument : kernel.arguments) {
    if (argument.arg.is_hidden()) continue;
    if (argument.region != nullptr)
      names.pointers.push_back({number, argument.arg.name, argument.pointer});
    ++number;
  }
  return names;
}

KernelSanitizer::KernelSanitizer(const sanitize::ToolSet& tools, sanitize::FixedMap map)
    : tools_(tools.names()), map_(std::move(map)), session_({.tools = tools}) {
  session_.begin(map_);
}

std::string KernelSanitizer::take_lines(const KernelNames& names, uint64_t dispatches,
                                        bool faulted) {
  const sanitize::SessionFindings found = session_.take();
  std::string lines;
  for (uint64_t i = 0; i < dispatches; ++i) {
    lines += '{';
    append_text(lines, "type", "dispatch");
    append_number(lines, "checked", 1);
    if (i + 1 == dispatches && faulted) append_number(lines, "faulted", 1);
    if (i == 0 && found.dropped != 0) append_number(lines, "dropped", found.dropped);
    finish_object(lines);
    lines += '\n';
  }
  const sanitize::Naming naming{[&](GpuAddr pc) { return find_code(names, pc); }, names.pointers};
  uint64_t id = 0;
  for (const sanitize::Finding& finding : found.findings) {
    lines += '{';
    append_text(lines, "type", "finding");
    append_number(lines, "id", id++);
    append_number(lines, "times", finding.times);
    append_number(lines, "lane_count", finding.lane_count);
    append_text(lines, "kernel", names.kernel);
    append_text(lines, "model", names.model);
    sanitize::append_finding(lines, finding, naming);
    finish_object(lines);
    lines += '\n';
  }
  session_.begin(map_);
  return lines;
}

SanitizeReport KernelSanitizer::report(const KernelNames& names, uint64_t dispatches,
                                       bool faulted) {
  SanitizeReport report;
  report.tools = tools_;
  fold_findings(take_lines(names, dispatches, faulted), report);
  return report;
}

sanitize::FixedMap memory_map(replay::KernelRun& run) {
  std::vector<sanitize::FixedBlock> blocks;
  run.memory().for_each([&](const emu::MappedRange& range) {
    blocks.push_back({{range.begin, range.end, range.writable}, "", true});
  });
  return sanitize::FixedMap(std::move(blocks));
}

}  // namespace wavetap::cli
