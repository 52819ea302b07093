#include "analysis/time_spec.h"

#include <cmath>
#include <cstdlib>

namespace wavetap::analysis {

Result<int64_t> parse_time(const std::string& text, const Span& span) {
  const Error wrong = errorf("%s: not a time; give %s", text.c_str(), kTimeSpecHelp);
  const bool from_end = text.starts_with('-');
  const std::string number = from_end || text.starts_with('+') ? text.substr(1) : text;
  char* rest = nullptr;
  const double value = std::strtod(number.c_str(), &rest);
  if (rest == number.c_str() || !std::isfinite(value) || value < 0) return wrong;
  const std::string unit = rest;
  if (unit == "%") {
    if (from_end || value > 100) return wrong;
    return span.begin +
           static_cast<int64_t>(std::llround(static_cast<double>(span.length()) * value / 100));
  }
  double scale = 0;
  if (unit == "s") scale = 1e9;
  if (unit == "ms") scale = 1e6;
  if (unit == "us") scale = 1e3;
  if (unit == "ns") scale = 1;
  if (scale == 0) {
    // A bare whole number is a time of the trace's own clock.
    if (!unit.empty() || from_end || text.starts_with('+')) return wrong;
    return static_cast<int64_t>(std::strtoll(number.c_str(), nullptr, 10));
  }
  const auto ns = static_cast<int64_t>(std::llround(value * scale));
  return from_end ? span.end - ns : span.begin + ns;
}

Result<Window> parse_window(const std::string& start, const std::string& end, const Span& span) {
  Window window;
  if (!start.empty()) {
    const Result<int64_t> time = parse_time(start, span);
    if (!time.ok()) return Error{"--start " + time.error().message};
    window.begin = *time;
  }
  if (!end.empty()) {
    const Result<int64_t> time = parse_time(end, span);
    if (!time.ok()) return Error{"--end " + time.error().message};
    window.end = *time;
  }
  if (window.end < window.begin)
    return errorf("--end %s: lies before --start %s; give a later one", end.c_str(), start.c_str());
  return window;
}

}  // namespace wavetap::analysis
