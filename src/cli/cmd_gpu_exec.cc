// wavetap gpu exec: runs one kernel of a code object with no ROCm installed. The code object is
// loaded as a runtime would, the arguments come from the command line, and the engine gets a
// dispatch with its own small address space. A fault is reported with everything the engine knows
// about it.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "amd/aql.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/device_code.h"
#include "cli/guest_memory.h"
#include "cli/instruction_trace.h"
#include "cli/kernarg.h"
#include "cli/kernel_argument.h"
#include "codeobj/image.h"
#include "emu/amd_counters.h"
#include "emu/engine.h"
#include "emu/wave.h"
#include "isa/program.h"
#include "util/file.h"
#include "util/table.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

struct Options {
  std::string file;
  std::string kernel;
  std::string target;
  std::string grid = "1";
  std::string block = "1";
  std::vector<std::string> arguments;
  std::vector<std::string> dumps;
  std::vector<std::string> saves;
  uint32_t lds_bytes = 0;
  bool counters = false;
  bool json = false;
  uint64_t seed = 0;
  uint32_t threads = 0;
  uint64_t watchdog = 0;
  uint64_t trace = 0;  // instructions to print
};

struct Dump {
  size_t argument = 0;  // 0-based
  size_t count = 16;
  std::string type = "i32";
};

class ExecHost final : public emu::Host {
 public:
  void interrupt() noexcept override {}
  uint64_t clock_ticks() noexcept override { return to_ticks(now()).value; }
};

// "X[,Y[,Z]]", each from 1 to `limit`.
Status parse_extent(const char* option, const std::string& text, uint32_t limit,
                    uint32_t (&extent)[3]) {
  const std::vector<std::string> parts = util::split(text, ',');
  if (parts.size() > 3)
    return errorf("%s %s: more than three dimensions; write X[,Y[,Z]]", option, text.c_str());
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<uint64_t> value = util::parse_unsigned(parts[i]);
    if (!value || *value == 0 || *value > limit) {
      return errorf("%s %s: each must be a number from 1 to %u; write X[,Y[,Z]]", option,
                    text.c_str(), limit);
    }
    extent[i] = static_cast<uint32_t>(*value);
  }
  return {};
}

// "N[:COUNT[:TYPE]]", N counted from 0.
Result<Dump> parse_dump(const std::string& text) {
  const std::vector<std::string> parts = util::split(text, ':');
  Dump dump;
  const std::optional<uint64_t> argument = util::parse_unsigned(parts[0]);
  const std::optional<uint64_t> count =
      parts.size() > 1 ? util::parse_unsigned(parts[1]) : dump.count;
  if (parts.size() > 2) dump.type = parts[2];
  if (!argument || !count || parts.size() > 3 || element_bytes(dump.type) == 0) {
    return errorf("--dump-arg %s: not understood; write N[:COUNT[:TYPE]], as in 2:16:f32",
                  text.c_str());
  }
  dump.argument = *argument;
  dump.count = *count;
  return dump;
}

// Everything a kernel needs to run, in guest memory.
struct Prepared {
  GuestMemory memory;
  codeobj::CodeObject object;
  const codeobj::Kernel* kernel;
  GpuAddr image;
  uint64_t image_bytes = 0;
  std::vector<KernelArgument> arguments;
  std::vector<GpuAddr> buffers;  // by argument; 0 for scalars
  emu::Dispatch dispatch;
  ExecHost host;

  Prepared(const FoundKernel& found) : object(*found.object), kernel(found.kernel) {}
};

Status load(Prepared& run) {
  const Result<codeobj::ImageLayout> layout = codeobj::layout_of(run.object);
  if (!layout.ok()) return layout.error();
  run.image_bytes = layout->size_bytes;
  run.image = run.memory.allocate(layout->size_bytes, {.writable = true, .executable = true});
  return codeobj::load_image(run.object, run.memory.bytes(run.image, layout->size_bytes),
                             run.image);
}

Status place_arguments(Prepared& run, const Options& options, const DispatchShape& shape) {
  const size_t expected = visible_argument_count(*run.kernel);
  if (options.arguments.size() != expected) {
    return errorf("%s: takes %s, %zu given; one --arg each for: %s",
                  codeobj::short_name(run.kernel->name).c_str(),
                  util::count_of(expected, "argument").c_str(), options.arguments.size(),
                  describe_arguments(*run.kernel).c_str());
  }
  std::vector<std::vector<std::byte>> values;
  for (const std::string& text : options.arguments) {
    Result<KernelArgument> argument = parse_argument(text);
    if (!argument.ok()) return argument.error();
    GpuAddr buffer;
    std::vector<std::byte> value = argument->bytes;
    if (argument->is_buffer) {
      buffer = run.memory.allocate(argument->bytes.size());
      std::memcpy(run.memory.bytes(buffer, argument->bytes.size()).data(), argument->bytes.data(),
                  argument->bytes.size());
      value.resize(sizeof buffer.value);
      std::memcpy(value.data(), &buffer.value, sizeof buffer.value);
    }
    values.push_back(std::move(value));
    run.buffers.push_back(buffer);
    run.arguments.push_back(std::move(*argument));
  }
  const uint64_t size_bytes =
      std::max<uint64_t>({run.kernel->kernarg_bytes, run.kernel->descriptor.kernarg_size, 8});
  run.dispatch.kernarg = run.memory.allocate(size_bytes);
  return fill_kernarg(*run.kernel, values, shape,
                      run.memory.bytes(run.dispatch.kernarg, size_bytes));
}

// The two structures in memory that a kernel may look at: its dispatch packet and its queue.
void place_packet(Prepared& run, const DispatchShape& shape) {
  emu::Dispatch& dispatch = run.dispatch;
  amd::KernelDispatchPacket packet{};
  packet.header = static_cast<uint16_t>(amd::PacketType::kKernelDispatch);
  packet.setup = 3;
  for (int axis = 0; axis < 3; ++axis) {
    dispatch.workgroup_size[axis] = packet.workgroup_size[axis] =
        static_cast<uint16_t>(shape.workgroup_size[axis]);
    dispatch.grid_size[axis] = packet.grid_size[axis] = shape.grid_size(axis);
  }
  packet.private_segment_size = dispatch.private_segment_bytes;
  packet.group_segment_size = dispatch.group_segment_bytes;
  packet.kernel_object = dispatch.kernel_object.value;
  packet.kernarg_address = dispatch.kernarg.value;
  dispatch.packet = run.memory.allocate(sizeof packet);
  std::memcpy(run.memory.bytes(dispatch.packet, sizeof packet).data(), &packet, sizeof packet);

  std::byte* queue = run.memory.bytes(shape.queue, 4096).data();
  const uint32_t shared_hi = emu::kSharedAperture >> 32;
  const uint32_t private_hi = emu::kPrivateAperture >> 32;
  std::memcpy(queue + amd::kQueueGroupApertureHi, &shared_hi, sizeof shared_hi);
  std::memcpy(queue + amd::kQueuePrivateApertureHi, &private_hi, sizeof private_hi);
}

// What a fault address is near to: a buffer, the code, or nothing.
std::string name_address(const Prepared& run, GpuAddr address) {
  for (size_t i = 0; i < run.buffers.size(); ++i) {
    if (!run.arguments[i].is_buffer) continue;
    const uint64_t begin = run.buffers[i].value;
    const uint64_t size = run.arguments[i].bytes.size();
    if (address.value >= begin && address.value < begin + size + 4096) {
      const uint64_t offset = address.value - begin;
      return offset < size
                 ? fmt::format("byte {} of argument {}", offset, i)
                 : fmt::format("{} bytes into argument {}, which has {}", offset, i, size);
    }
    if (address.value < begin && begin - address.value <= 4096) {
      return fmt::format("{} before argument {}", util::count_of(begin - address.value, "byte"), i);
    }
  }
  return "no buffer near it";
}

int report_fault(Prepared& run, const emu::Fault& fault) {
  std::string what = emu::fault_name(fault.kind);
  const bool has_address =
      fault.kind == emu::FaultKind::kPageFault || fault.kind == emu::FaultKind::kWriteToReadOnly ||
      fault.kind == emu::FaultKind::kApertureViolation || fault.kind == emu::FaultKind::kMisaligned;
  if (has_address) {
    what += fmt::format(" {} 0x{:x} ({})", fault.is_write ? "writing" : "reading",
                        fault.address.value, name_address(run, fault.address));
  }
  if (fault.detail[0] != '\0') what += fmt::format(", {}", fault.detail);
  what += fmt::format(", workgroup {},{},{} wave {}", fault.workgroup[0], fault.workgroup[1],
                      fault.workgroup[2], fault.wave);
  if (fault.lane >= 0) what += fmt::format(" lane {}", fault.lane);
  const std::span<const std::byte> code = run.memory.bytes(
      fault.pc, std::min<uint64_t>(16, run.image.value + run.image_bytes - fault.pc.value));
  if (!code.empty()) {
    what += fmt::format(", at 0x{:x}: {}", fault.pc.value - run.image.value,
                        isa::disassemble(code, run.object.target(), fault.wave64, fault.pc));
  }
  return fail({fmt::format("{}: {}", codeobj::short_name(run.kernel->name), what)}, kIncomplete);
}

template <class Visitor>
void for_each_counter(const emu::Counters& counters, Visitor&& visit) {
#define WT_COUNTER(name, help) visit(#name, counters.name, help);
#include "emu/counters.inc"
#undef WT_COUNTER
}

void print_counters(const emu::Counters& counters) {
  util::Table table({{"COUNTER"},
                     {"VALUE", util::Align::kRight},
                     {"MEANING", util::Align::kLeft, /*may_shrink=*/true}});
  for_each_counter(counters, [&](const char* name, uint64_t value, const char* help) {
    if (value != 0) table.add({name, util::group_digits(value), help});
  });
  fmt::print("{}", table.text(util::output_columns(STDOUT_FILENO)));
}

Status check_buffer(const Prepared& run, size_t argument, const std::string& option) {
  if (argument < run.arguments.size() && run.arguments[argument].is_buffer) return {};
  return errorf("%s: argument %zu is not a buffer; arguments count from 0", option.c_str(),
                argument);
}

int exec(const Options& options) {
  const Result<std::unique_ptr<DeviceFile>> file = open_device_file(options.file);
  if (!file.ok()) return fail(file.error());
  const Result<std::vector<FoundKernel>> found =
      find_kernels(**file, options.kernel, options.target);
  if (!found.ok()) return fail(found.error());
  if (found->size() > 1) {
    std::vector<std::string> targets;
    for (const FoundKernel& match : *found) targets.push_back(match.object->target_id());
    return fail(errorf("%s: %s exists for %s; choose one with --target", options.file.c_str(),
                       options.kernel.c_str(), util::join(targets, ", ").c_str()));
  }

  DispatchShape shape;
  shape.dynamic_lds_bytes = options.lds_bytes;
  Status status = parse_extent("--grid", options.grid, UINT32_MAX, shape.workgroups);
  if (status.ok()) status = parse_extent("--block", options.block, 1024, shape.workgroup_size);
  if (!status.ok()) return fail(status.error());
  if (uint64_t{shape.workgroup_size[0]} * shape.workgroup_size[1] * shape.workgroup_size[2] >
      1024) {
    return fail(
        errorf("--block %s: more than 1024 work-items; the hardware has no larger workgroups",
               options.block.c_str()));
  }
  std::vector<Dump> dumps;
  for (const std::string& text : options.dumps) {
    const Result<Dump> dump = parse_dump(text);
    if (!dump.ok()) return fail(dump.error());
    dumps.push_back(*dump);
  }

  Prepared run(found->front());
  shape.queue = run.memory.allocate(4096);
  status = load(run);
  if (status.ok()) status = place_arguments(run, options, shape);
  for (const Dump& dump : dumps) {
    if (status.ok()) status = check_buffer(run, dump.argument, "--dump-arg");
  }
  if (!status.ok()) return fail(status.error());
  emu::Dispatch& dispatch = run.dispatch;
  dispatch.target = run.object.target();
  dispatch.sram_ecc = amd::expects_sram_ecc(run.object.target_id());
  dispatch.code_bytes = run.kernel->code.size();
  dispatch.kernel_object = run.image + run.kernel->descriptor_address;
  dispatch.queue = shape.queue;
  dispatch.group_segment_bytes =
      run.kernel->descriptor.group_segment_fixed_size + options.lds_bytes;
  dispatch.private_segment_bytes =
      std::max<uint32_t>(run.kernel->descriptor.private_segment_fixed_size,
                         run.kernel->uses_dynamic_stack ? 16384 : 0);
  dispatch.count = true;
  dispatch.memory = &run.memory;
  dispatch.host = &run.host;
  place_packet(run, shape);

  InstructionTrace trace(run.image, run.memory, options.trace);
  emu::EngineOptions engine_options{.threads = static_cast<int>(options.threads),
                                    .seed = options.seed,
                                    .watchdog_instructions = options.watchdog};
  emu::Watcher* const watchers[] = {&trace};
  if (options.trace != 0) {
    engine_options.threads = 1;  // so that lines do not mix
    dispatch.watchers = watchers;
  }
  emu::Engine engine(engine_options);
  const auto start = std::chrono::steady_clock::now();
  const emu::DispatchResult result = engine.run(dispatch);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (result.fault) return report_fault(run, *result.fault);

  nlohmann::json json = {{"kernel", codeobj::demangle(run.kernel->name)},
                         {"target", run.object.target_id()}};
  if (!options.json) {
    fmt::print("{} on {}: {}, {}, {} wave instructions\n", codeobj::short_name(run.kernel->name),
               run.object.target_id(), util::count_of(result.counters.workgroups, "workgroup"),
               util::count_of(result.counters.waves, "wave"),
               util::group_digits(result.counters.instructions));
  }
  for (const Dump& dump : dumps) {
    const KernelArgument& argument = run.arguments[dump.argument];
    const Result<std::vector<std::string>> elements = format_elements(
        run.memory.bytes(run.buffers[dump.argument], argument.bytes.size()), dump.type, dump.count);
    if (!elements.ok()) return fail(elements.error());
    if (options.json) {
      json["arguments"][std::to_string(dump.argument)] = *elements;
    } else {
      fmt::print("argument {} ({}):\n{}\n", dump.argument, dump.type,
                 util::wrap(util::join(*elements, " "), util::output_columns(STDOUT_FILENO), 2));
    }
  }
  for (const std::string& save : options.saves) {
    const size_t equals = save.find('=');
    const std::optional<uint64_t> argument = util::parse_unsigned(save.substr(0, equals));
    if (equals == std::string::npos || !argument)
      return fail(errorf("--save-arg %s: not understood; write N=FILE", save.c_str()));
    status = check_buffer(run, *argument, "--save-arg");
    if (!status.ok()) return fail(status.error());
    const std::span<const std::byte> bytes =
        run.memory.bytes(run.buffers[*argument], run.arguments[*argument].bytes.size());
    status = util::write_file(save.substr(equals + 1),
                              {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!status.ok()) return fail(status.error());
  }
  if (options.json) {
    for_each_counter(result.counters, [&](const char* name, uint64_t value, const char*) {
      json["counters"][name] = value;
    });
    emu::for_each_amd_counter(result.counters, [&](const char* name, uint64_t value, const char*) {
      json["amd"][name] = value;
    });
    json["seconds"] = seconds;
    fmt::print("{}\n", json.dump(2));
  } else if (options.counters) {
    print_counters(result.counters);
  }
  return kDone;
}

}  // namespace

void add_gpu_exec(Command& parent, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  Command& command = parent.add_command(
      "exec",
      "run one kernel of a code object on the engine, without ROCm; exit status 2 if it faults",
      "gpu exec FILE KERNEL [--grid X,Y,Z] [--block X,Y,Z] [--arg …]…",
      "  wavetap gpu exec ./saxpy saxpy --target gfx1030 --grid 4 --block 256 \\\n"
      "    --arg i32:1000 --arg f32:2 --arg buf:4000:iota.f32 \\\n"
      "    --arg buf:4000:fill.f32=1 --dump-arg 3:8:f32 --counters\n");
  command
      .add_option("FILE", options->file, "a HIP program, library, offload bundle or code object")
      ->required();
  command.add_option("KERNEL", options->kernel, "the kernel's symbol or its name in the source")
      ->required();
  command
      .add_option("--target", options->target, "which code, when the file has several: gfx1030 say")
      ->type_name("GFX");
  command.add_option("--grid", options->grid, "workgroups of the grid, as in <<<grid, block>>>")
      ->type_name("X[,Y[,Z]]");
  command.add_option("--block", options->block, "work-items of a workgroup")
      ->type_name("X[,Y[,Z]]");
  command.add_option("--lds", options->lds_bytes, "bytes of dynamic LDS per workgroup")
      ->type_name("N");
  command
      .add_option("--arg", options->arguments,
                  "the next argument: TYPE:VALUE (i8 u8 i16 u16 i32 u32 i64 u64 f32 f64), "
                  "buf:SIZE[:INIT] for a buffer (INIT: zero, iota[.TYPE], fill.TYPE=VALUE, "
                  "random[=SEED], file=PATH), "
                  "or raw:HEX")
      ->type_name("ARG")
      ->allow_extra_args(false);
  command
      .add_option("--dump-arg", options->dumps,
                  "print elements of a buffer afterwards; N counts from 0")
      ->type_name("N[:COUNT[:TYPE]]")
      ->allow_extra_args(false);
  command.add_option("--save-arg", options->saves, "write a buffer to a file afterwards")
      ->type_name("N=FILE")
      ->allow_extra_args(false);
  command
      .add_option("--trace", options->trace,
                  "print the first N instructions executed and what each wrote")
      ->type_name("N");
  command.add_flag("--counters", options->counters, "print what the dispatch did, counted exactly");
  command.add_option("--seed", options->seed, "permute the order of workgroups and waves")
      ->type_name("N");
  command
      .add_option("--threads", options->threads,
                  "host threads; 1 is deterministic; 0: one per core")
      ->type_name("N");
  command
      .add_option("--watchdog", options->watchdog, "fault a wave after N instructions; 0: never")
      ->type_name("N");
  command.add_flag("--json", options->json, "print JSON");
  command.callback([options, &invocation] { invocation.exit_code = exec(*options); });
}

}  // namespace wavetap::cli
