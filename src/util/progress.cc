#include "util/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "util/terminal.h"
#include "util/text.h"

namespace wavetap::util {
namespace {
constexpr int64_t kQuietNs = 500'000'000;
constexpr int64_t kBetweenNs = 100'000'000;
}  // namespace

Progress::Progress(std::string what, size_t total)
    : what_(escape_line(what)),
      total_(total),
      enabled_(isatty(STDERR_FILENO) != 0),
      started_ns_(now().value) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(size_t done, const std::string& item) {
  const int64_t time = now().value;
  if (!enabled_ || time - started_ns_ < kQuietNs || time - printed_ns_ < kBetweenNs) return;
  printed_ns_ = time;
  shown_ = true;
  const size_t share = total_ == 0 ? 0 : std::min(done, total_) * 100 / total_;
  std::string line = fmt::format("{} [{:<20}] {:3} % {}", what_, std::string(share / 5, '#'), share,
                                 escape_control(item));
  line.resize(std::min(line.size(), output_columns(STDERR_FILENO) - 1));
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

}  // namespace wavetap::util
