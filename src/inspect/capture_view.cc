#include "inspect/capture_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "amd/gfx_target.h"
#include "codeobj/source_map.h"
#include "format/capture_request.h"
#include "replay/kernel_argument.h"
#include "replay/touched_memory.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::inspect {
namespace {

using replay::Capture;
using replay::CapturedArgument;
using replay::CapturedKernel;
using replay::CapturedRegion;
using replay::CaptureFile;

struct HostFrame {
  std::string place;  // "/path/program+0x1234"
  std::string name;   // as found when it was captured; may be ""
};
// The launching thread's, from the innermost on; empty when it is not known.
std::vector<HostFrame> host_stack(const replay::Capture& capture) {
  std::vector<HostFrame> frames;
  for (const auto& [key, value] : capture.facts) {
    if (!key.starts_with(format::kHostStackFact)) continue;
    const auto name = capture.facts.find(
        format::kHostNameFact + key.substr(std::string_view(format::kHostStackFact).size()));
    frames.push_back({value, name == capture.facts.end() ? "" : name->second});
  }
  return frames;
}

constexpr size_t kFirstElements = 8;

std::string rights_of(const format::CaptureRegion& region) {
  return fmt::format("{}{}{}", (region.rights & format::kCaptureReadable) != 0 ? 'r' : '-',
                     (region.rights & format::kCaptureWritable) != 0 ? 'w' : '-',
                     (region.rights & format::kCaptureExecutable) != 0 ? 'x' : '-');
}

uint64_t pages_in(const replay::PageRunList& runs) {
  uint64_t pages = 0;
  for (const format::CapturePageRun& run : runs) pages += run.count;
  return pages;
}

std::string hex_of(const std::vector<std::byte>& bytes) {
  constexpr size_t kMost = 32;
  std::string text = "0x";
  for (size_t i = std::min(bytes.size(), kMost); i-- > 0;)
    text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
  if (bytes.size() > kMost) text += fmt::format("… ({} bytes)", bytes.size());
  return text;
}

std::string argument_value(const CapturedArgument& argument) {
  if (argument.arg.value_kind == "global_buffer") return fmt::format("0x{:x}", argument.pointer);
  const std::string element =
      !argument.element.empty() && !argument.type.ends_with('*') &&
              replay::element_bytes(argument.element) == argument.value.size()
          ? argument.element
          : "";
  if (!element.empty()) {
    const auto text = replay::format_elements(argument.value, element, 1);
    if (text.ok() && !text->empty()) return text->front();
  }
  if (argument.arg.is_hidden() && argument.value.size() <= 8) {
    uint64_t number = 0;
    std::memcpy(&number, argument.value.data(), argument.value.size());
    return argument.value.size() == 8 && number > UINT32_MAX ? fmt::format("0x{:x}", number)
                                                             : std::to_string(number);
  }
  return hex_of(argument.value);
}

std::vector<std::string> first_elements(const CaptureFile& file, const Capture& capture,
                                        const CapturedArgument& argument, replay::State state) {
  const std::string element = argument.element.empty() ? "u32" : argument.element;
  const uint64_t bytes =
      std::min<uint64_t>(argument.extent_bytes, kFirstElements * replay::element_bytes(element));
  const auto text =
      replay::format_elements(replay::captured_bytes(file, capture, state, argument.pointer, bytes),
                              element, kFirstElements);
  return text.ok() ? *text : std::vector<std::string>();
}

std::string source_line(const Capture& capture, const CapturedKernel& kernel) {
  if (kernel.kernel == nullptr) return "";
  const auto line =
      codeobj::SourceMap(kernel.object->elf()).user_line(kernel.kernel->entry_address);
  return line ? codeobj::full_place(*line) : "";
}

bool has_dynamic_stack(const CapturedKernel& kernel) {
  return kernel.kernel != nullptr && kernel.kernel->uses_dynamic_stack;
}

bool is_redacted(const Capture& capture) {
  return (capture.dispatch.flags & format::kCaptureRedacted) != 0;
}

std::string state_of(const Capture& capture) {
  if (!capture.has_before) return "incomplete";
  if (!capture.has_after) return "before only";
  if (!capture.fault.empty()) return "before and after; " + capture.fault;
  return "before and after";
}

template <class T>
std::string extent(const T& sizes) {
  return fmt::format("{},{},{}", sizes[0], sizes[1], sizes[2]);
}

// "pool", "managed", "pinned", or several of them: what the program got from HIP in that region, where that
// is more than device memory.
std::string made_by_hip(const Capture& capture, const format::CaptureRegion& region) {
  constexpr std::string_view kPrefix = format::kCaptureMadeFact;
  std::string text;
  for (auto it = capture.facts.lower_bound(std::string(kPrefix));
       it != capture.facts.end() && it->first.starts_with(kPrefix); ++it) {
    const uint64_t address = std::strtoull(it->first.c_str() + kPrefix.size(), nullptr, 10);
    if (address - region.address >= region.size_bytes) continue;
    for (const char* made : {"pool", "managed", "pinned"})
      if (it->second.ends_with(made) && text.find(made) == std::string::npos)
        text += (text.empty() ? "" : " and ") + std::string(made);
  }
  return text;
}

std::string list_text(const CaptureFile& file, size_t columns) {
  util::Table table({{"CAPTURE", util::Align::kRight},
                     {"LAUNCH", util::Align::kRight},
                     {"PID", util::Align::kRight},
                     {"STATE"},
                     {"KERNEL", util::Align::kLeft, /*may_shrink=*/true}});
  for (const Capture& capture : file.captures()) {
    table.add({std::to_string(capture.dispatch.capture), std::to_string(capture.dispatch.launch),
               std::to_string(capture.dispatch.pid), state_of(capture),
               util::escape_control(capture.kernel)});
  }
  return table.text(columns) + "\n";
}

std::string head_text(const Capture& capture, const CapturedKernel& kernel) {
  const format::CaptureDispatch& d = capture.dispatch;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<13}{}\n", name, util::escape_control(value));
  };
  line("kernel", capture.kernel);
  line("source", source_line(capture, kernel));
  line("program", capture.program);
  line("GPU", fmt::format("{} ({}, {})", capture.marketing_name, capture.model,
                          amd::to_string(capture.target)));
  line("grid", fmt::format("{} work-items in workgroups of {}", extent(d.grid_size),
                           extent(d.workgroup_size)));
  line("LDS", fmt::format("{} bytes", d.group_segment_bytes));
  line("scratch", fmt::format("{} bytes per lane{}", d.private_segment_bytes,
                              has_dynamic_stack(kernel) ? ", and a stack that grows" : ""));
  line("launch", fmt::format("{} of those that matched, dispatch {} of process {}, queue {}",
                             d.launch, d.dispatch, d.pid, d.queue));
  line("state", state_of(capture) +
                    (capture.is_unordered() ? "; unordered: other queues ran meanwhile" : ""));
  for (const auto& [key, value] : capture.facts)
    if (key.starts_with("library.")) line("runtime", value);
  const char* label = "launched by";
  for (const HostFrame& frame : host_stack(capture)) {
    line(label, frame.name.empty() ? frame.place : frame.name);
    label = "";
  }
  if (!capture.touched.empty()) {
    line("touched", fmt::format("{} bytes read, {} bytes written",
                                util::group_digits(replay::read_bytes(capture.touched)),
                                util::group_digits(replay::written_bytes(capture.touched))));
  }
  if (capture.is_only_touched())
    line("kept", is_redacted(capture)
                     ? "only pages that the kernel touches; of those, what it reads"
                     : "only pages that the kernel touches");
  return text;
}

std::string arguments_text(const CaptureFile& file, const Capture& capture,
                           const CapturedKernel& kernel, size_t columns) {
  if (kernel.kernel == nullptr)
    return "\nno code object describes this kernel; its arguments are not known\n";
  util::Table table({{"ARG", util::Align::kRight},
                     {"NAME"},
                     {"TYPE", util::Align::kLeft, /*may_shrink=*/true},
                     {"OFFSET", util::Align::kRight},
                     {"VALUE"},
                     {"POINTS INTO", util::Align::kLeft, /*may_shrink=*/true}});
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel.arguments[i];
    if (argument.arg.value_kind == "hidden_none") continue;
    std::string into;
    if (argument.region != nullptr) {
      into = fmt::format("{} + 0x{:x}", memory_kind(capture, argument.region->record),
                         argument.pointer - argument.region->begin());
    }
    const std::string type = argument.type.empty() ? argument.arg.value_kind : argument.type;
    table.add({std::to_string(i), util::escape_control(argument.arg.name),
               util::escape_control(type), std::to_string(argument.arg.offset),
               argument_value(argument), into});
  }
  std::string text = kernel.arguments.empty() ? "" : "\n" + table.text(columns);
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel.arguments[i];
    if (argument.region == nullptr || argument.arg.is_hidden()) continue;
    const auto first = [&](replay::State state) {
      return util::join(first_elements(file, capture, argument, state), " ");
    };
    text += fmt::format("\n{}, {} to the next pointer or the end of its memory\n",
                        argument_name(kernel, i), util::human_bytes(argument.extent_bytes));
    text += fmt::format("  before  {}\n", first(replay::State::kBefore));
    if (capture.has_after) text += fmt::format("  after   {}\n", first(replay::State::kAfter));
  }
  return text;
}

std::string memory_map_text(const Capture& capture, size_t columns) {
  util::Table table({{"ADDRESS"},
                     {"SIZE", util::Align::kRight},
                     {"RIGHTS"},
                     {"PAGES", util::Align::kRight},
                     {"CHANGED", util::Align::kRight},
                     {"KIND", util::Align::kLeft, /*may_shrink=*/true}});
  for (const CapturedRegion& region : capture.regions) {
    table.add({fmt::format("0x{:x}", region.begin()), util::human_bytes(region.record.size_bytes),
               rights_of(region.record), std::to_string(pages_in(region.before)),
               std::to_string(pages_in(region.changes)), memory_kind(capture, region.record)});
  }
  return "\n" + table.text(columns);
}

nlohmann::ordered_json argument_json(const CaptureFile& file, const Capture& capture,
                                     const CapturedArgument& argument) {
  nlohmann::ordered_json json = {
      {"name", argument.arg.name},        {"type", argument.type},
      {"kind", argument.arg.value_kind},  {"offset", argument.arg.offset},
      {"bytes", argument.arg.size_bytes}, {"value", argument_value(argument)}};
  if (argument.region == nullptr) return json;
  json["region"] = argument.region->record.region;
  json["extent_bytes"] = argument.extent_bytes;
  json["element"] = argument.element;
  json["before"] = first_elements(file, capture, argument, replay::State::kBefore);
  if (capture.has_after)
    json["after"] = first_elements(file, capture, argument, replay::State::kAfter);
  return json;
}

nlohmann::ordered_json capture_json(const CaptureFile& file, const Capture& capture) {
  const format::CaptureDispatch& d = capture.dispatch;
  const CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  nlohmann::ordered_json json = {{"capture", d.capture},
                                 {"kernel", capture.kernel},
                                 {"source", source_line(capture, kernel)},
                                 {"program", capture.program},
                                 {"model", capture.model},
                                 {"target", amd::to_string(capture.target)},
                                 {"pid", d.pid},
                                 {"queue", d.queue},
                                 {"launch", d.launch},
                                 {"dispatch", d.dispatch},
                                 {"grid_size", d.grid_size},
                                 {"workgroup_size", d.workgroup_size},
                                 {"lds_bytes", d.group_segment_bytes},
                                 {"scratch_bytes_per_lane", d.private_segment_bytes},
                                 {"dynamic_stack", has_dynamic_stack(kernel)},
                                 {"unordered", capture.is_unordered()},
                                 {"has_before", capture.has_before},
                                 {"has_after", capture.has_after},
                                 {"fault", capture.fault},
                                 {"only_touched", capture.is_only_touched()},
                                 {"redacted", is_redacted(capture)},
                                 {"arguments", nlohmann::ordered_json::array()},
                                 {"regions", nlohmann::ordered_json::array()},
                                 {"code_objects", nlohmann::ordered_json::array()}};
  if (!capture.touched.empty()) {
    json["read_bytes"] = replay::read_bytes(capture.touched);
    json["packed_read_bytes"] = replay::packed_read_bytes(file, capture);
    json["written_bytes"] = replay::written_bytes(capture.touched);
  }
  for (const CapturedArgument& argument : kernel.arguments)
    json["arguments"].push_back(argument_json(file, capture, argument));
  for (const CapturedRegion& region : capture.regions) {
    json["regions"].push_back({{"address", region.begin()},
                               {"bytes", region.record.size_bytes},
                               {"kind", memory_kind(capture, region.record)},
                               {"rights", rights_of(region.record)},
                               {"pages", pages_in(region.before)},
                               {"changed_pages", pages_in(region.changes)}});
  }
  for (const replay::CapturedCodeObject& object : capture.code_objects) {
    json["code_objects"].push_back({{"uri", object.uri},
                                    {"load_delta", object.record.load_delta},
                                    {"bytes", object.record.size_bytes}});
  }
  for (const HostFrame& frame : host_stack(capture))
    json["host_stack"].push_back({{"place", frame.place}, {"name", frame.name}});
  for (const auto& [key, value] : capture.facts) json["facts"][key] = value;
  return json;
}
}  // namespace

std::string capture_text(const CaptureFile& file, size_t index, size_t columns) {
  const Capture& capture = file.captures()[index];
  const CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  std::string text = file.captures().size() > 1 ? list_text(file, columns) : "";
  text += head_text(capture, kernel);
  text += arguments_text(file, capture, kernel, columns);
  return text + memory_map_text(capture, columns);
}

nlohmann::ordered_json captures_json(const CaptureFile& file) {
  nlohmann::ordered_json json = {{"file", file.name()},
                                 {"file_bytes", file.file_bytes()},
                                 {"pages", file.page_count()},
                                 {"captures", nlohmann::ordered_json::array()}};
  for (const Capture& capture : file.captures())
    json["captures"].push_back(capture_json(file, capture));
  return json;
}

std::string memory_kind(const Capture& capture, const format::CaptureRegion& region) {
  const std::string made = made_by_hip(capture, region);
  std::string text;
  switch (region.kind) {
    case format::CaptureMemoryKind::kVram: text = "VRAM"; break;
    case format::CaptureMemoryKind::kGtt: text = "host memory"; break;
    case format::CaptureMemoryKind::kUserptr:  // so the thunk of some hosts gets HIP's memory
      text = made.empty() ? "registered host memory" : "host memory";
      break;
    case format::CaptureMemoryKind::kSvm: text = "managed memory"; break;
    case format::CaptureMemoryKind::kDoorbell: text = "doorbells"; break;
    case format::CaptureMemoryKind::kMmio: text = "registers"; break;
    case format::CaptureMemoryKind::kUnknown: text = "memory"; break;
  }
  if (!made.empty()) text += ", " + made;
  if (region.origin == format::CaptureMemoryOrigin::kImported) text += ", imported";
  if (region.origin == format::CaptureMemoryOrigin::kBound) text += ", mapped by the program";
  if ((region.flags & format::kCaptureFineGrained) != 0) text += ", fine-grained";
  if ((region.flags & format::kCaptureUnreadable) != 0) text += ", partly gone";
  if ((region.flags & format::kCaptureNoContents) != 0) text += ", not captured";
  return text;
}

std::string argument_name(const CapturedKernel& kernel, size_t index) {
  const CapturedArgument& argument = kernel.arguments[index];
  std::vector<std::string> words;
  if (!argument.arg.name.empty()) words.push_back(argument.arg.name);
  if (!argument.type.empty()) words.push_back(argument.type);
  return fmt::format(
      "argument {}{}", index,
      words.empty() ? "" : " (" + util::escape_control(util::join(words, ", ")) + ")");
}
}  // namespace wavetap::inspect
