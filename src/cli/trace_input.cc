#include "cli/trace_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/render.h"
#include "util/json.h"
#include "util/json_library.h"
#include "util/terminal.h"

namespace wavetap::cli {

std::unique_ptr<util::Progress> reading_progress(const std::string& path) {
  return std::make_unique<util::Progress>("reading " + path, 100);
}

Result<store::Trace> load_trace(const std::string& path, store::LoadOptions options,
                                util::Progress* progress) {
  std::unique_ptr<util::Progress> own;
  if (progress == nullptr) progress = (own = reading_progress(path)).get();
  options.progress = [&](double share) {
    progress->update(static_cast<size_t>(share * 100), share < 1 ? "" : "analysing");
  };
  return store::Trace::load(path, options);
}

void print_report(const analysis::Report& report, const store::Trace& trace, bool json) {
  if (json) {
    fmt::print("{}", util::json_text(analysis::render_json(report, trace)));
    return;
  }
  analysis::RenderOptions options;
  options.columns = util::output_columns(STDOUT_FILENO);
  options.colour = util::wants_colour(STDOUT_FILENO);
  fmt::print("{}", analysis::render_text(report, options));
}

}  // namespace wavetap::cli
