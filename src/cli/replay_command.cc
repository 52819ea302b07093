#include "cli/replay_command.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "cli/capture_show.h"
#include "inspect/capture_view.h"
#include "replay/kernel_argument.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

using replay::Capture;
using replay::CapturedArgument;
using replay::CapturedKernel;
using replay::CapturedMemory;

double middle(std::vector<double> sorted) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

std::string buffer_name(const CapturedKernel& kernel, const replay::BufferDifference& buffer) {
  return buffer.argument == SIZE_MAX ? fmt::format("memory at 0x{:x}", buffer.base)
                                     : inspect::argument_name(kernel, buffer.argument);
}

// Up to the last byte that the capture has; pages that were not kept are zeros.
std::string kept_bytes(const CapturedMemory& memory, uint64_t begin, uint64_t size_bytes) {
  constexpr uint64_t kPage = format::kCapturePageBytes;
  const auto view = [&](uint64_t at, uint64_t size) {
    const std::span<const std::byte> bytes = memory.bytes({at}, size);
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  if (const std::string_view all = view(begin, size_bytes); !all.empty()) return std::string(all);
  std::string kept;
  const uint64_t end = begin + size_bytes;
  for (uint64_t at = begin, next = 0; at < end; at = next) {
    next = std::min(end, at / kPage * kPage + kPage);
    const std::string_view page = view(at, next - at);
    if (page.empty()) continue;
    kept.resize(at - begin);
    kept += page;
  }
  return kept;
}

}  // namespace

Result<std::optional<replay::Workgroups>> parse_grid(const std::optional<std::string>& option) {
  if (!option) return std::optional<replay::Workgroups>();
  const std::vector<std::string> parts = util::split(*option, ',');
  replay::Workgroups grid = {1, 1, 1};
  bool good = parts.size() <= 3;
  for (size_t i = 0; i < parts.size() && good; ++i) {
    const std::optional<uint64_t> value = util::parse_unsigned(parts[i]);
    good = value && *value >= 1 && *value <= UINT32_MAX / 1024;
    if (good) grid[i] = static_cast<uint32_t>(*value);
  }
  if (!good)
    return errorf("--grid %s: not understood; write X[,Y[,Z]] workgroups, each from 1 to %u",
                  option->c_str(), UINT32_MAX / 1024);
  return std::optional(grid);
}

ReplayTimes times_of(std::vector<double> seconds) {
  const double median = middle(seconds);
  std::vector<double> distances;
  for (const double one : seconds) distances.push_back(std::abs(one - median));
  const double spread = middle(distances);
  const auto outliers = std::count_if(distances.begin(), distances.end(), [&](double distance) {
    return seconds.size() >= kFewestForOutliers && spread > 0 && distance > 5 * spread;
  });
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return {*least, median, *most, spread, static_cast<size_t>(outliers)};
}

std::string times_text(const std::vector<double>& seconds, const std::string& where) {
  const ReplayTimes times = times_of(seconds);
  if (seconds.size() == 1) return fmt::format("{:.3f} ms {}", times.median * 1e3, where);
  return fmt::format("{} times {}: median {:.3f} ms, {:.3f} to {:.3f} ms, spread {:.3f} ms{}",
                     seconds.size(), where, times.median * 1e3, times.least * 1e3, times.most * 1e3,
                     times.spread * 1e3,
                     times.outliers == 0 ? "" : ", " + util::count_of(times.outliers, "outlier"));
}

nlohmann::ordered_json times_json(const std::vector<double>& seconds) {
  const ReplayTimes times = times_of(seconds);
  return {{"seconds", seconds},
          {"median_seconds", times.median},
          {"spread_seconds", times.spread},
          {"outliers", times.outliers}};
}

std::function<void(std::string_view, bool)> kernel_output(const ReplayCommand& options,
                                                          std::string& text) {
  if (options.json) return [&text](std::string_view printed, bool) { text += printed; };
  return [](std::string_view printed, bool is_error) {
    std::fwrite(printed.data(), 1, printed.size(), is_error ? stderr : stdout);
  };
}

Result<replay::Tolerance> check_verify(const ReplayCommand& options, const Capture& capture,
                                       const CapturedKernel& kernel) {
  Result<replay::Tolerance> tolerance = replay::parse_tolerances(options.verify.value_or(""));
  if (!tolerance.ok() || !options.verify) return tolerance;
  for (const replay::Tolerance& one : tolerance->arguments)
    if (one.argument >= kernel.arguments.size() || kernel.arguments[one.argument].region == nullptr)
      return errorf(
          "--verify: argument %zu is no pointer into captured memory; see wavetap capture show %s",
          one.argument, options.file.c_str());
  if (options.no_recopy && options.iterations + options.warmup > 1)
    return errorf(
        "--verify: the second run begins where the first one ended with --no-recopy; leave out one "
        "of them");
  if (!capture.has_after)
    return errorf(
        "%s: has no state after the kernel to compare with; the program ended in it, or was "
        "killed; leave out --verify",
        options.file.c_str());
  if (capture.is_unordered())
    warn({fmt::format("{}: captured while other queues ran; differences may be theirs",
                      options.file)});
  return tolerance;
}

void print_verdict(const CapturedKernel& kernel, const replay::Verdict& verdict) {
  if (verdict.equal()) {
    fmt::print("verified: all {} bytes it changed are as captured\n",
               util::group_digits(verdict.written_bytes));
  }
  for (const replay::BufferDifference& buffer : verdict.buffers) {
    fmt::print("{}: {} of type {} differ, the first at [{}]: {} instead of {}\n",
               buffer_name(kernel, buffer), util::count_of(buffer.differing, "element"),
               buffer.element, buffer.first_index,
               replay::first_element_text(buffer.got, buffer.element),
               replay::first_element_text(buffer.expected, buffer.element));
  }
  if (verdict.host_bytes > 0) {
    fmt::print(
        "not compared: {} bytes of host-visible memory changed during the capture and not in "
        "the replay; the host may have written them\n",
        util::group_digits(verdict.host_bytes));
  }
  if (verdict.heap_bytes + verdict.heap_pointers > 0) {
    fmt::print(
        "not compared: {} bytes of the device's heap, and {} into it; where it allocates depends on "
        "the order of waves\n",
        util::group_digits(verdict.heap_bytes), util::count_of(verdict.heap_pointers, "pointer"));
  }
}

nlohmann::ordered_json verdict_json(const CapturedKernel& kernel, const replay::Verdict& verdict) {
  nlohmann::ordered_json json = {{"equal", verdict.equal()},
                                 {"written_bytes", verdict.written_bytes},
                                 {"captured_bytes", verdict.captured_bytes},
                                 {"host_bytes", verdict.host_bytes},
                                 {"heap_bytes", verdict.heap_bytes},
                                 {"heap_pointers", verdict.heap_pointers},
                                 {"differing_elements", verdict.differing},
                                 {"buffers", nlohmann::ordered_json::array()}};
  for (const replay::BufferDifference& buffer : verdict.buffers) {
    json["buffers"].push_back(
        {{"name", buffer_name(kernel, buffer)},
         {"address", buffer.base},
         {"element", buffer.element},
         {"differing", buffer.differing},
         {"first_index", buffer.first_index},
         {"expected", replay::first_element_text(buffer.expected, buffer.element)},
         {"got", replay::first_element_text(buffer.got, buffer.element)}});
  }
  return json;
}

Status dump_buffers(const std::string& folder, const CapturedKernel& kernel,
                    const CapturedMemory& memory) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return errorf("%s: cannot be made: %s; name another folder with --dump", folder.c_str(),
                  std::strerror(errno));
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    const CapturedArgument& argument = kernel.arguments[i];
    if (argument.region == nullptr || argument.arg.is_hidden()) continue;
    const Status written =
        util::write_file(fmt::format("{}/arg{}.bin", folder, i),
                         kept_bytes(memory, argument.pointer, argument.extent_bytes));
    if (!written.ok()) return written;
  }
  return {};
}

}  // namespace wavetap::cli
