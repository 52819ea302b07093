#include <fmt/format.h>

#include <map>

#include "cli/sanitize_report.h"
#include "replay/captured_kernel.h"
#include "util/inlined_text.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string ordinal(uint64_t number) {
  const uint64_t last = number % 10;
  const bool is_teen = number % 100 / 10 == 1;
  const char* ending = is_teen     ? "th"
                       : last == 1 ? "st"
                       : last == 2 ? "nd"
                       : last == 3 ? "rd"
                                   : "th";
  return std::to_string(number) + ending;
}

// ", 3rd argument `out`": which argument of the kernel leads to the memory, or "".
std::string argument_text(const Json& finding) {
  if (!finding.contains("argument")) return "";
  const Json& argument = finding["argument"];
  const uint64_t index = util::count_in(argument, "number");
  std::string text = ", " + ordinal(index + 1) + " argument";
  if (argument.contains("name")) return text + " `" + util::text_in(argument, "name") + "`";
  const std::vector<std::string> types = replay::parameters_of(util::text_in(finding, "kernel"));
  return index < types.size() ? text + " (" + types[index] + ")" : text;
}

// "4 bytes past the end of the 256-byte VRAM allocation at 0x6000…".
std::string address_text(const Json& finding) {
  const std::string address = util::text_in(finding, "address");
  if (util::text_in(finding, "space") != "global") {
    const std::string at =
        fmt::format("byte {} of {}", std::stoull(address, nullptr, 16),
                    util::text_in(finding, "space") == "LDS" ? "LDS" : "the lane's scratch");
    if (!finding.contains("limit_bytes")) return at;
    return fmt::format("{}; there are {}", at, util::count_in(finding, "limit_bytes"));
  }
  const std::string relation = util::text_in(finding, "relation");
  if (relation == "none" || util::text_in(finding, "kind") == "invalid-address")
    return address + ", with no allocation near it";
  const Json& beside = finding["allocation"];
  const uint64_t size = util::count_in(beside, "size_bytes");
  const uint64_t distance = util::count_in(finding, "distance");
  const std::string memory = util::text_in(beside, "memory");
  const std::string name = fmt::format(
      "the {}-byte {}{}allocation at {}{}{}{}", size, memory, memory.empty() ? "" : " ",
      util::text_in(beside, "address"),
      util::count_in(beside, "exact") != 0 ? "" : " (whole pages)", argument_text(finding),
      util::count_in(beside, "freed") != 0 ? ", which was freed" : "");
  const uint64_t reach = distance + util::count_in(finding, "size_bytes");
  if (relation == "inside" && util::text_in(finding, "kind") == "out-of-bounds")
    return fmt::format("{}, reaches {} past the end of {}", address,
                       counted(reach - size, "byte", "bytes"), name);
  if (relation == "inside")
    return fmt::format("{}, {} into {}", address, counted(distance, "byte", "bytes"), name);
  return fmt::format("{}, {} {} of {}", address, counted(distance, "byte", "bytes"),
                     relation == "past" ? "past the end" : "before the begin", name);
}

std::string triple(const Json& values) {
  if (!values.is_array() || values.size() != 3) return "?";
  return fmt::format("({},{},{})", util::json_line(values[0]), util::json_line(values[1]),
                     util::json_line(values[2]));
}

// "entry + 0x34, fill.hip:12: global_store_dword …".
std::string code_text(const Json& place) {
  std::string where = place.contains("offset")
                          ? fmt::format("entry + {:#x}", util::count_in(place, "offset"))
                          : "pc " + util::text_in(place, "pc");
  if (place.contains("source")) where += ", " + util::text_in(place, "source");
  return where + ": " + util::text_in(place, "instruction");
}

// The functions that were inlined there, up to the kernel.
std::string frames_text(const Json& place) {
  std::vector<util::NamedPlace> frames;
  for (const Json& frame : place.value("frames", Json::array()))
    frames.push_back({util::text_in(frame, "function"), util::text_in(frame, "source")});
  std::string text;
  for (const std::string& line : util::inlined_lines(frames, util::text_in(place, "source")))
    text += "           " + line + "\n";
  return text;
}

// "thread (62,0,0) of workgroup (0,0,0), wave 1, lanes 0xc0000000".
std::string who_text(const Json& place) {
  const std::string group = triple(place.value("workgroup", Json()));
  if (!place.contains("lanes"))
    return fmt::format("wave {} of workgroup {}", util::count_in(place, "wave"), group);
  return fmt::format("thread {} of workgroup {}, wave {}, lanes {}",
                     triple(place.value("thread", Json())), group, util::count_in(place, "wave"),
                     util::text_in(place, "lanes"));
}

std::string access_text(const Json& place) {
  return fmt::format("{} of {}", util::text_in(place, "access"),
                     counted(util::count_in(place, "size_bytes"), "byte", "bytes"));
}

std::string headline(const Json& finding) {
  std::string text = fmt::format("{}: {}: {}", util::text_in(finding, "severity"),
                                 util::text_in(finding, "tool"), util::text_in(finding, "kind"));
  if (finding.contains("access"))
    text += fmt::format(": {} in {}{}", access_text(finding), util::text_in(finding, "space"),
                        util::text_in(finding, "space") == "global" ? " memory" : "");
  return text;
}

// "a = 1 | b = 2" as "a = 1, b = 2".
std::string without_bars(std::string text) {
  for (size_t at = text.find(" | "); at != std::string::npos; at = text.find(" | ", at))
    text.replace(at, 3, ", ");
  return text;
}

// A call of the program's, and where it came from.
std::string call_text(const Json& side) {
  const std::string arguments =
      side.contains("arguments") ? "(" + without_bars(util::text_in(side, "arguments")) + ")" : "";
  return util::text_in(side, "call") + arguments;
}
std::string stack_text(const Json& side, const char* lead = "from") {
  std::string text;
  for (const Json& frame : side.value("stack", Json::array())) {
    text += fmt::format("  {:<8} {}\n", lead, frame.get<std::string>());
    lead = "";
  }
  return text;
}

// The other side: an instruction, or a copy.
std::string other_text(const Json& other) {
  const std::string access = other.contains("access") ? access_text(other) : "";
  if (other.contains("call"))
    return fmt::format("  {:<8} {} by {}\n", util::text_in(other, "role"), access,
                       call_text(other)) +
           stack_text(other);
  return fmt::format("  {:<8} {}{}\n", util::text_in(other, "role"),
                     access + (access.empty() ? "" : " at "), code_text(other)) +
         frames_text(other) + fmt::format("  by       {}\n", who_text(other));
}

// A call of the program's that did wrong.
std::string host_text(const Json& finding) {
  std::string text = fmt::format("{}\n  call     {}\n  detail   {}\n", headline(finding),
                                 call_text(finding), util::text_in(finding, "detail"));
  if (finding.contains("access")) text += fmt::format("  address  {}\n", address_text(finding));
  text += stack_text(finding);
  if (finding.contains("other")) text += other_text(finding["other"]);
  text += "  in all   " + counted(util::count_in(finding, "times"), "time", "times");
  if (finding.contains("bytes"))
    text += ", " + counted(util::count_in(finding, "bytes"), "byte", "bytes");
  return text + "\n";
}

// Who allocated the memory, and who freed it, with those who called them.
std::string owners_text(const Json& allocation) {
  std::string text;
  for (const char* key : {"allocated_by", "freed_by"}) {
    const std::string who = util::text_in(allocation, key);
    if (who.empty()) continue;
    text += fmt::format("           {} {}\n", *key == 'a' ? "allocated by" : "freed by", who);
    const Json stack = allocation.value(fmt::format("{}_stack", key), Json::array());
    for (size_t i = 1; i < stack.size(); ++i)
      text += fmt::format("             {}\n", stack[i].get<std::string>());
  }
  return text;
}

std::string finding_text(const Json& finding) {
  if (finding.contains("call")) return host_text(finding);
  std::string text = fmt::format("{}\n  kernel   {}\n  at       {}\n", headline(finding),
                                 util::text_in(finding, "kernel"), code_text(finding));
  text += frames_text(finding);
  if (finding.contains("detail"))
    text += fmt::format("  detail   {}\n", util::text_in(finding, "detail"));
  if (finding.contains("access")) text += fmt::format("  address  {}\n", address_text(finding));
  if (finding.contains("allocation")) text += owners_text(finding["allocation"]);
  text += fmt::format("  by       {}\n", who_text(finding));
  if (finding.contains("launch")) text += stack_text(finding["launch"], "launched");
  if (finding.contains("other")) text += other_text(finding["other"]);
  if (finding.contains("bytes"))
    return text + fmt::format("  in all   {}, {}, not freed when the program ended\n",
                              counted(util::count_in(finding, "times"), "block", "blocks"),
                              counted(util::count_in(finding, "bytes"), "byte", "bytes"));
  const std::string times = counted(util::count_in(finding, "times"), "execution", "executions");
  const uint64_t lanes = util::count_in(finding, "lane_count");
  text += lanes == 0 ? fmt::format("  in all   {} of the instruction by a wave\n", times)
                     : fmt::format("  in all   {} in {} of the instruction by a wave\n",
                                   counted(lanes, "lane", "lanes"), times);
  return text;
}

std::string reservations(const SanitizeReport& report) {
  std::string text;
  const auto add = [&](uint64_t count, const char* one, const char* many, const char* rest) {
    if (count != 0) text += fmt::format("sanitize: {} {}\n", counted(count, one, many), rest);
  };
  add(report.faulted, "dispatch", "dispatches",
      "ended in a fault; what would have come later is not known");
  add(report.unwatched, "dispatch", "dispatches",
      "could not be checked: the kernel cannot be read, or too many tools watch it");
  add(report.dropped, "instance is", "instances are",
      "not shown: one dispatch had more findings than are kept");
  add(report.losses, "line was", "lines were", "lost: a process was killed while it wrote");
  add(report.depending_on_order, "dispatch", "dispatches",
      report.orders > 1
          ? "with flags or locks: which races are found there depends on the order of waves"
          : "with flags or locks: which races are found there depends on the order of waves; --seeds "
            "N tries more of them");
  if (report.orders > 1)
    text += fmt::format("sanitize: {} orders of workgroups and waves were tried\n", report.orders);
  add(report.suppressed, "finding is", "findings are", "suppressed");
  for (const std::string& unused : report.unused_suppressions)
    text += fmt::format("sanitize: a suppression matched nothing: {}\n", unused);
  return text;
}

}  // namespace

std::string sanitize_sentence(const Json& finding) {
  std::string text = headline(finding);
  if (finding.contains("access")) text += ": " + address_text(finding);
  if (finding.contains("detail")) text += "; " + util::text_in(finding, "detail");
  return text;
}

std::string sanitize_text(const SanitizeReport& report, uint64_t max) {
  std::string text;
  std::map<std::string, uint64_t> kinds;
  uint64_t shown = 0;
  for (const Json& finding : report.findings) {
    ++kinds[util::text_in(finding, "kind")];
    if (shown == max) continue;
    text += finding_text(finding) + "\n";
    ++shown;
  }
  if (shown < report.findings.size())
    text += fmt::format("… and {} more (--max shows more, --json all)\n\n",
                        report.findings.size() - shown);
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) parts.push_back(fmt::format("{} {}", count, kind));
  const uint64_t errors = report.errors();
  text += fmt::format("sanitize: {}, {}{}; {} checked by {}, {} left out\n",
                      counted(errors, "error", "errors"),
                      counted(report.findings.size() - errors, "warning", "warnings"),
                      parts.empty() ? "" : " (" + util::join(parts, ", ") + ")",
                      counted(report.checked, "dispatch", "dispatches"),
                      util::join(util::split(report.tools, ','), ", "), report.skipped);
  if (report.checked == 0)
    text += report.skipped == 0
                ? "sanitize: the program dispatched no kernel; nothing was checked\n"
                : "sanitize: no kernel matched; nothing was checked\n";
  return util::escape_lines(text + reservations(report));
}

}  // namespace wavetap::cli
