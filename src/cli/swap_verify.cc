#include "cli/swap_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/capture_show.h"
#include "cli/command.h"
#include "cli/swap_start.h"
#include "codeobj/code_object.h"
#include "inspect/capture_view.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/kernel_argument.h"
#include "replay/replay_run.h"
#include "replay/verify.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// What became of one captured dispatch.
struct Comparison {
  uint32_t capture = 0;
  std::string kernel, file;
  std::string why_not;  // it was not compared
  double original_s = 0, replacement_s = 0;
  std::optional<replay::Verdict> verdict;
  std::string
      first;  // "argument 2 (y, float*): 3 elements of type f32 differ, the first at [7]: 1 instead of 2"
};

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds.empty() ? 0 : seconds[seconds.size() / 2];
}

std::string describe(const replay::CapturedKernel& kernel, const replay::BufferDifference& buffer) {
  return fmt::format("{}: {} of type {} differ, the first at [{}]: {} instead of {}",
                     buffer.argument == SIZE_MAX ? fmt::format("memory at 0x{:x}", buffer.base)
                                                 : inspect::argument_name(kernel, buffer.argument),
                     util::count_of(buffer.differing, "element"), buffer.element,
                     buffer.first_index, replay::first_element_text(buffer.got, buffer.element),
                     replay::first_element_text(buffer.expected, buffer.element));
}

// Both runs begin with the captured memory.
Status run_both(const replay::CaptureFile& file, const replay::Capture& capture,
                const replay::CapturedKernel& kernel, const SwapVerifyOptions& options,
                const replay::Tolerance& tolerance, Comparison& to) {
  const Result<std::unique_ptr<replay::CapturedMemory>> memory =
      replay::CapturedMemory::load(file, capture);
  if (!memory.ok()) return memory.error();
  for (const bool is_replaced : {false, true}) {
    if (is_replaced) (*memory)->restore();
    const replay::ReplayResult ran =
        replay::run_replay(capture, kernel, **memory,
                           {.iterations = options.iterations,
                            .workgroups = std::nullopt,
                            .swap = is_replaced ? to.file : std::string()});
    if (ran.refusal != replay::Refusal::kNone) return errorf("%s", ran.why.c_str());
    if (ran.fault)
      return errorf("%s faults in the replay", is_replaced ? "the replacement" : "the original");
    (is_replaced ? to.replacement_s : to.original_s) = median(ran.seconds);
  }
  to.verdict = replay::verify(file, capture, kernel, **memory, tolerance);
  if (!to.verdict->buffers.empty()) to.first = describe(kernel, to.verdict->buffers.front());
  return {};
}

std::optional<Comparison> compare(const replay::CaptureFile& file, const replay::Capture& capture,
                                  const swap::Index& index, const swap::Table& table,
                                  const SwapVerifyOptions& options,
                                  const replay::Tolerance& tolerance) {
  const replay::CapturedKernel kernel = replay::find_captured_kernel(file, capture);
  if (kernel.kernel == nullptr) return std::nullopt;
  const swap::KernelInfo original = swap::describe(*kernel.object, *kernel.kernel);
  const SwapAnswer answer = choose_swap(index, table, original, /*one_by_one=*/true);
  if (answer.candidate == nullptr) return std::nullopt;
  Comparison result{.capture = capture.dispatch.capture,
                    .kernel = capture.kernel,
                    .file = answer.candidate->path,
                    .why_not = {},
                    .verdict = {},
                    .first = {}};
  if (!answer.verdict.is_legal()) result.why_not = answer.verdict.why;
  else if (answer.candidate->kernel != original.name)
    result.why_not = "kernels of another name are not compared; rename it";
  else if (!capture.has_before || !capture.has_after)
    result.why_not = "the capture lacks the memory before or after the kernel";
  else if (const Status ran = run_both(file, capture, kernel, options, tolerance, result);
           !ran.ok())
    result.why_not = ran.error().message;
  return result;
}

std::string to_text(const Comparison& one) {
  const std::string kernel = util::escape_control(one.kernel);
  const std::string file = util::escape_control(one.file);
  if (!one.verdict)
    return fmt::format("{}: not compared with {}: {}\n", kernel, file,
                       util::escape_control(one.why_not));
  std::string text = fmt::format("{}: {}; original {:.3f} ms, {} {:.3f} ms on the engine\n", kernel,
                                 one.verdict->equal() ? "the same output" : "OTHER OUTPUT",
                                 one.original_s * 1e3, file, one.replacement_s * 1e3);
  if (!one.first.empty()) text += fmt::format("  {}\n", util::escape_control(one.first));
  return text;
}

nlohmann::ordered_json to_json(const Comparison& one) {
  nlohmann::ordered_json json = {{"capture", one.capture},
                                 {"kernel", one.kernel},
                                 {"replacement", one.file},
                                 {"compared", one.verdict.has_value()}};
  if (!one.verdict) {
    json["why"] = one.why_not;
    return json;
  }
  json["equal"] = one.verdict->equal();
  json["written_bytes"] = one.verdict->written_bytes;
  json["differing_elements"] = one.verdict->differing;
  json["first_difference"] = one.first;
  json["original_seconds"] = one.original_s;
  json["replacement_seconds"] = one.replacement_s;
  return json;
}

// A name, or a pattern with * and ?, as a regular expression.
std::string expression_of(std::string_view pattern, bool has_stars) {
  std::string expression;
  for (const char c : pattern) {
    if (has_stars && c == '*') {
      expression += ".*";
    } else if (has_stars && c == '?') {
      expression += '.';
    } else {
      if (std::string_view(".[]{}()\\*+?|^$").find(c) != std::string_view::npos) expression += '\\';
      expression += c;
    }
  }
  return expression;
}

}  // namespace

std::string pattern_of(const swap::Table& table) {
  constexpr size_t kMost = 200;
  if (table.candidates().size() > kMost) return "";
  std::string pattern;
  for (const swap::Candidate& one : table.candidates()) {
    pattern += pattern.empty() ? "^(" : "|";
    if (one.is_exact) {
      pattern += expression_of(codeobj::demangle(one.pattern), false);
    } else {
      // It may stand for the name without return type and arguments; for a symbol, any name will do.
      if (one.pattern.starts_with("_Z")) return "";
      pattern += "(.* )?" + expression_of(one.pattern, true) + "(\\(.*)?";
    }
  }
  return pattern.empty() ? "" : pattern + ")$";
}

SwapVerification verify_swaps(const SwapVerifyOptions& options) {
  SwapVerification made;
  const Result<replay::Tolerance> tolerance = replay::parse_tolerance(options.tolerance);
  Result<swap::Index> index = open_swap_index(options.source);
  if (!tolerance.ok() || !index.ok()) {
    made.exit_code = fail(tolerance.ok() ? index.error() : tolerance.error());
    return made;
  }
  const swap::Table table(swap::candidates_of(*index, ""));
  std::vector<Comparison> all;
  for (const std::string& path : options.captures) {
    const std::unique_ptr<replay::CaptureFile> file = open_captures(path, &made.exit_code);
    if (file == nullptr) return made;
    for (const replay::Capture& capture : file->captures())
      if (std::optional<Comparison> one =
              compare(*file, capture, *index, table, options, *tolerance))
        all.push_back(std::move(*one));
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Comparison& one : all) {
    rows.push_back(to_json(one));
    made.text += to_text(one);
  }
  made.json = util::json_text({{"captures", rows}});
  const bool whole = std::all_of(all.begin(), all.end(),
                                 [](const Comparison& one) { return one.verdict.has_value(); });
  made.exit_code = whole && !all.empty() ? kDone : kIncomplete;
  if (std::any_of(all.begin(), all.end(),
                  [](const Comparison& one) { return one.verdict && !one.verdict->equal(); }))
    made.exit_code = kMismatch;
  return made;
}

}  // namespace wavetap::cli
