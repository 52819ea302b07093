#include "proof/describe.h"

#include <fmt/format.h>

#include "replay/kernel_argument.h"
#include "util/text.h"

namespace wavetap::proof {
namespace {

std::string element_text(const std::string& element, const std::vector<std::byte>& bytes) {
  const auto text = replay::format_elements(bytes, element, 1);
  return text.ok() && !text->empty() ? text->front() : "?";
}

}  // namespace

std::string describe_difference(const replay::CapturedKernel& kernel,
                                const replay::BufferDifference& difference) {
  std::string name = fmt::format("memory at {:#x}", difference.base);
  if (difference.argument < kernel.arguments.size()) {
    const replay::CapturedArgument& argument = kernel.arguments[difference.argument];
    const std::string& type = argument.type.empty() ? argument.arg.name : argument.type;
    name = fmt::format("argument {}{}", difference.argument,
                       type.empty() ? "" : fmt::format(" ({})", type));
  }
  return fmt::format("{}: {} of type {} differ, the first at [{}]: {} instead of {}", name,
                     util::count_of(difference.differing, "element"), difference.element,
                     difference.first_index, element_text(difference.element, difference.got),
                     element_text(difference.element, difference.expected));
}

std::string describe_verdict(const replay::CapturedKernel& kernel, const replay::Verdict& verdict) {
  std::string text;
  for (const replay::BufferDifference& difference : verdict.buffers)
    text += (text.empty() ? "" : "; ") + describe_difference(kernel, difference);
  return text;
}

std::string describe_errors(const std::vector<sanitize::Finding>& findings) {
  const sanitize::Finding* first = nullptr;
  size_t errors = 0;
  for (const sanitize::Finding& finding : findings) {
    if (finding.severity != sanitize::Severity::kError) continue;
    if (first == nullptr) first = &finding;
    ++errors;
  }
  if (first == nullptr) return "";
  const sanitize::KindRow& row = sanitize::row_of(first->kind);
  return fmt::format(
      "{} of the sanitizer, the first from {}: {} (workgroup {},{},{}, thread {},{},{})",
      util::count_of(errors, "error"), sanitize::tool_name(row.tool), row.what,
      first->place.workgroup[0], first->place.workgroup[1], first->place.workgroup[2],
      first->place.thread[0], first->place.thread[1], first->place.thread[2]);
}

}  // namespace wavetap::proof
