#include "replay/capture_export.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "amd/gfx_target.h"
#include "replay/export_plan.h"
#include "replay/kernel_argument.h"
#include "replay/touched_memory.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::replay {
namespace {

constexpr std::string_view kProgram =
#include "replay/reproducer_source.inc"
    ;

// @TARGET@ is the GPU. Nothing is compiled for it; naming it keeps hipcc from looking for one.
constexpr std::string_view kBuildFile = R"(cmake_minimum_required(VERSION 3.16)
if(NOT DEFINED CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  find_program(CMAKE_CXX_COMPILER hipcc PATHS /opt/rocm/bin)
endif()
project(reproducer CXX)
add_executable(reproducer reproducer.cpp)
set_target_properties(reproducer PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
target_compile_definitions(reproducer PRIVATE DATA_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}")
target_compile_options(reproducer PRIVATE --offload-arch=@TARGET@)
target_link_options(reproducer PRIVATE --offload-arch=@TARGET@)
)";

// For a C string and for a comment: names come from files.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : util::escape_control(text)) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out;
}

Status write(const std::string& path, std::span<const std::byte> bytes) {
  return util::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class Exporter {
 public:
  Exporter(const Capture& capture, const CapturedKernel& kernel, const ExportPlan& plan,
           const std::string& folder)
      : capture_(capture), kernel_(kernel), plan_(plan), folder_(folder) {}

  Status run() {
    for (const std::string& path : {folder_, folder_ + "/data"}) {
      if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
        return errorf("%s: cannot be made: %s; choose another folder", path.c_str(),
                      std::strerror(errno));
    }
    const std::span<const ExportPointer> pointers(plan_.pointers);
    put("kernel.hsaco", kernel_.image);
    put("data/pointers.bin", std::as_bytes(pointers));
    for (size_t i = 0; i < plan_.pieces.size(); ++i) put(piece_name(i), plan_.pieces[i].bytes);
    for (size_t i = 0; i < plan_.outputs.size(); ++i) put(output_name(i), plan_.outputs[i].bytes);
    put_text("launch.h", tables());
    put_text("reproducer.cpp", kProgram);
    put_text("CMakeLists.txt", build_file());
    put_text("README.md", readme());
    return status_;
  }
  uint64_t size() const { return size_; }

 private:
  static std::string piece_name(size_t i) { return fmt::format("data/piece{}.bin", i); }
  static std::string output_name(size_t i) { return fmt::format("data/expected{}.bin", i); }
  void put(const std::string& name, std::span<const std::byte> bytes) {
    if (status_.ok()) status_ = write(folder_ + "/" + name, bytes);
    size_ += bytes.size();
  }
  void put_text(const std::string& name, std::string_view text) {
    put(name, std::as_bytes(std::span(text)));
  }
  uint32_t dynamic_lds() const {
    const uint32_t fixed = kernel_.kernel->descriptor.group_segment_fixed_size;
    const uint32_t all = capture_.dispatch.group_segment_bytes;
    return all > fixed ? all - fixed : 0;
  }
  std::string tables() const;
  std::string argument_tables() const;
  std::string build_file() const;
  std::string readme() const;

  const Capture& capture_;
  const CapturedKernel& kernel_;
  const ExportPlan& plan_;
  const std::string folder_;
  Status status_;
  uint64_t size_ = 0;
};

std::string Exporter::argument_tables() const {
  std::string text;
  for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel_.arguments[i];
    if (argument.arg.is_hidden()) continue;
    text += fmt::format("//   {}: offset {}, {} bytes, {} {}\n", i, argument.arg.offset,
                        argument.arg.size_bytes, quoted(argument.arg.value_kind),
                        quoted(argument.type));
  }
  text += fmt::format("constexpr uint64_t kArgumentBytes = {};\n", plan_.arguments.size());
  text += "constexpr uint64_t kArgumentOffsets[] = {";
  for (const CapturedArgument& argument : kernel_.arguments)
    if (!argument.arg.is_hidden()) text += fmt::format("{}, ", argument.arg.offset);
  if (plan_.arguments.empty()) text += "0";
  text += "};\nconstexpr unsigned char kArguments[] = {";
  for (size_t i = 0; i < plan_.arguments.size(); ++i)
    text += fmt::format("{}0x{:02x},", i % 16 == 0 ? "\n  " : " ",
                        static_cast<unsigned>(plan_.arguments[i]));
  if (plan_.arguments.empty()) text += "0";
  return text + "};\n\n";
}

std::string Exporter::tables() const {
  const format::CaptureDispatch& d = capture_.dispatch;
  std::string text = fmt::format(
      "// One launch of {}, as tables. Made by wavetap capture export.\n#pragma once\n\n"
      "#include <cstdint>\n\n",
      quoted(capture_.kernel));
  text +=
      fmt::format("constexpr char kKernel[] = \"{}\";\nconstexpr char kKernelName[] = \"{}\";\n",
                  quoted(kernel_.kernel->name), quoted(capture_.kernel));
  text += fmt::format(
      "constexpr uint32_t kGrid[3] = {{{}, {}, {}}};  // work-items\n"
      "constexpr uint32_t kWorkgroup[3] = {{{}, {}, {}}};\n"
      "constexpr uint32_t kDynamicLds = {};\nconstexpr bool kCooperative = {};\n\n",
      d.grid_size[0], d.grid_size[1], d.grid_size[2], d.workgroup_size[0], d.workgroup_size[1],
      d.workgroup_size[2], dynamic_lds(), (d.flags & format::kCaptureCooperative) != 0);
  text += "// The arguments:\n" + argument_tables();
  text +=
      "enum PlaceKind { kBuffer, kVariable, kCode };\n"
      "// Memory of the captured program.\n"
      "struct Place {\n  PlaceKind kind;\n  const char* name;\n  uint64_t address;  // then\n"
      "  uint64_t bytes;\n};\n"
      "constexpr Place kPlaces[] = {\n";
  constexpr const char* kKinds[] = {"kBuffer", "kVariable", "kCode"};
  for (const ExportPlace& place : plan_.places)
    text += fmt::format("  {{{}, \"{}\", 0x{:x}, {}}},\n", kKinds[static_cast<int>(place.kind)],
                        quoted(place.name), place.address, place.size_bytes);
  text +=
      "};\n\n// What a place holds before the launch; the rest is zeros.\n"
      "struct Piece {\n  uint32_t place;\n  uint64_t offset;\n  uint64_t bytes;\n"
      "  const char* file;\n};\n";
  text += fmt::format("constexpr Piece kPieces[] = {{\n");
  for (size_t i = 0; i < plan_.pieces.size(); ++i)
    text += fmt::format("  {{{}, {}, {}, \"{}\"}},\n", plan_.pieces[i].place,
                        plan_.pieces[i].offset, plan_.pieces[i].bytes.size(), piece_name(i));
  if (plan_.pieces.empty()) text += "  {0, 0, 0, \"data/pointers.bin\"},\n";
  text +=
      "};\n\n// What the kernel wrote.\n"
      "struct Output {\n  uint32_t place;\n  uint64_t offset;\n  uint64_t bytes;\n  const char* name;\n"
      "  const char* element;\n  uint64_t element_bytes;\n  uint64_t first_index;  // behind the "
      "argument's pointer\n  const char* file;\n};\nconstexpr Output kOutputs[] = {\n";
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    const ExportOutput& output = plan_.outputs[i];
    text += fmt::format("  {{{}, {}, {}, \"{}\", \"{}\", {}, {}, \"{}\"}},\n", output.place,
                        output.offset, output.bytes.size(), quoted(output.name), output.element,
                        element_bytes(output.element), output.first_index, output_name(i));
  }
  if (plan_.outputs.empty()) text += "  {0, 0, 0, \"\", \"u8\", 1, 0, \"\"},\n";
  text +=
      "};\n\n// Words that hold addresses of places: data/pointers.bin.\n"
      "struct Pointer {\n  uint32_t place;\n  uint32_t reserved;\n  uint64_t offset;\n};\n"
      "constexpr uint32_t kInArguments = UINT32_MAX;\n";
  text += fmt::format("constexpr uint32_t kCodePointers = {};\n\n", plan_.code_pointers);
  text +=
      "// Variables of the code object, by which the rest of it is found.\n"
      "struct Anchor {\n  const char* name;\n  uint64_t linked_address;\n};\n"
      "constexpr Anchor kAnchors[] = {\n";
  for (const ExportAnchor& anchor : plan_.anchors)
    text += fmt::format("  {{\"{}\", {}}},\n", quoted(anchor.name), anchor.linked_address);
  if (plan_.anchors.empty()) text += "  {\"\", 0},\n";
  return text + "};\n";
}

std::string Exporter::build_file() const {
  constexpr std::string_view kMark = "@TARGET@";
  std::string text(kBuildFile);
  for (size_t at = 0; (at = text.find(kMark, at)) != std::string::npos;)
    text.replace(at, kMark.size(), amd::to_string(capture_.target));
  return text;
}

std::string Exporter::readme() const {
  const format::CaptureDispatch& d = capture_.dispatch;
  const std::string target = amd::to_string(capture_.target);
  std::string text = fmt::format(
      "# One launch of `{}`\n\n"
      "Captured from `{}` on {} ({}).\n"
      "{},{},{} work-items in workgroups of {},{},{}; {} bytes of LDS, {} of them dynamic.\n\n"
      "```\ncmake -S . -B build && cmake --build build\nbuild/reproducer            # or: build/reproducer 100\n```\n\n"
      "or without CMake `hipcc --offload-arch={} -std=c++17 reproducer.cpp -o reproducer`, run in this folder. It needs HIP and such a GPU.\n\n"
      "It uploads the captured memory, launches the kernel, prints the first elements of what it wrote and says whether\n"
      "every byte is as captured. Exit status 0: all as captured; 1: something differs; 2: it could not be run.\n\n",
      util::escape_control(capture_.kernel), util::escape_control(capture_.program),
      util::escape_control(capture_.marketing_name), target, d.grid_size[0], d.grid_size[1],
      d.grid_size[2], d.workgroup_size[0], d.workgroup_size[1], d.workgroup_size[2],
      d.group_segment_bytes, dynamic_lds(), target);
  text +=
      "| file | |\n|---|---|\n| `reproducer.cpp` | the program |\n"
      "| `launch.h` | the launch as tables: geometry, arguments, memory, outputs |\n"
      "| `kernel.hsaco` | the code object with the kernel; put another build of it here to compare |\n"
      "| `data/piece*.bin` | memory before the kernel ran |\n"
      "| `data/expected*.bin` | what it had made of it |\n"
      "| `data/pointers.bin` | where addresses are stored (`struct Pointer` of `launch.h`) |\n\n"
      "Only memory that the kernel reads or writes is here.\n\n## Addresses\n\n";
  text += fmt::format(
      "From HIP 6 on, buffers are placed at the addresses they had, if those are free there; then nothing is changed.\n"
      "Otherwise (or with `REPRODUCER_RELOCATE=1`) they lie elsewhere, and the words that hold addresses are adjusted: {},\n"
      "{} of them guessed. A guess is a word in a buffer or a by-value argument that the kernel reads whole and whose value\n"
      "lies in captured memory. An address that the kernel puts together from smaller parts is missed, and a number that\n"
      "looks like an address is changed. The last line of the output says whether memory was where it was.\n\n",
      util::count_of(plan_.pointers.size(), "word"), plan_.guessed);
  if (plan_.code_pointers > 0) {
    text += fmt::format(
        "{} point at code (functions, tables of virtual functions). HIP loads the code elsewhere; they are adjusted if the\n"
        "code object has a variable by which HIP finds it, and the program warns if it has none.\n\n",
        util::count_of(plan_.code_pointers, "word"));
  }
  text +=
      "Hidden arguments (printf, malloc on the device, sizes) are HIP's own. All memory is on the device, also where the\n"
      "program had it on the host.\n";
  return text;
}

ExportResult refuse(Refusal refusal, std::string why) {
  ExportResult result;
  result.refusal = refusal;
  result.why = std::move(why);
  return result;
}

}  // namespace

ExportResult export_capture(const CaptureFile& file, const Capture& capture,
                            const CapturedKernel& kernel, CapturedMemory& memory,
                            const ReplayOptions& options, const std::string& folder) {
  if (kernel.kernel == nullptr) {
    return refuse(Refusal::kNoKernel,
                  errorf("%s: no code object describes this kernel; it belongs to the runtime and "
                         "cannot be started by HIP",
                         util::escape_control(capture.kernel).c_str())
                      .message);
  }
  TouchedMemory touched;
  const ReplayResult ran = find_touched(capture, kernel, memory, options, touched);
  if (ran.refusal != Refusal::kNone) return refuse(ran.refusal, ran.why);
  const bool has_result = !ran.fault && (capture.fault.empty() || !capture.has_after);
  const ExportPlan plan = plan_export(file, capture, kernel, memory, touched.pages(), has_result);
  Exporter exporter(capture, kernel, plan, folder);
  const Status written = exporter.run();
  if (!written.ok()) return refuse(Refusal::kFile, written.error().message);
  ExportResult result;
  for (const ExportPlace& place : plan.places) {
    result.buffers += place.kind == ExportPlace::Kind::kBuffer ? 1 : 0;
    result.variables += place.kind == ExportPlace::Kind::kVariable ? 1 : 0;
  }
  result.outputs = static_cast<uint32_t>(plan.outputs.size());
  result.pointers = plan.pointers.size();
  result.data_bytes = exporter.size();
  return result;
}

}  // namespace wavetap::replay
