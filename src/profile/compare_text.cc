#include <fmt/format.h>

#include "profile/compare.h"
#include "profile/documents.h"
#include "profile/numbers.h"
#include "util/json_library.h"
#include "util/table.h"
#include "util/text.h"

namespace wavetap::profile {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double calls, double seconds) {
  return calls == 0 ? std::string("-") : util::human_seconds(seconds);
}

std::string change_text(double a, double b) {
  if (a == 0 || b == 0) return "-";
  const double share = (b - a) / a;
  return fmt::format("{:+.1f} %", share * 100);
}

}  // namespace

std::string comparison_text(const Comparison& comparison, size_t most, size_t columns) {
  std::string text = fmt::format("A  {} on {}\nB  {} on {}\n\n", comparison.source_a,
                                 comparison.gpu_a, comparison.source_b, comparison.gpu_b);
  util::Table table({{"KERNEL", util::Align::kLeft, /*may_shrink=*/true},
                     {"VERDICT", util::Align::kLeft},
                     {"TIME A", util::Align::kRight},
                     {"TIME B", util::Align::kRight},
                     {"CHANGE", util::Align::kRight},
                     {"LIMIT A", util::Align::kLeft},
                     {"LIMIT B", util::Align::kLeft}});
  size_t shown = 0;
  for (const KernelChange& kernel : comparison.kernels) {
    if (most != 0 && shown++ == most) break;
    table.add({short_kernel(kernel.kernel), name_of(kernel.verdict),
               time_text(kernel.calls_a, kernel.seconds_a),
               time_text(kernel.calls_b, kernel.seconds_b),
               change_text(kernel.seconds_a, kernel.seconds_b),
               kernel.limit_a.empty() ? "-" : kernel.limit_a,
               kernel.limit_b.empty() ? "-" : kernel.limit_b});
  }
  text += table.text(columns);
  if (most != 0 && comparison.kernels.size() > most)
    text += fmt::format("  … {} more; --top 0 shows all\n", comparison.kernels.size() - most);
  text += fmt::format(
      "\nall kernels: {} instead of {} ({})\n", util::human_seconds(comparison.total_b),
      util::human_seconds(comparison.total_a), change_text(comparison.total_a, comparison.total_b));
  shown = 0;
  for (const KernelChange& kernel : comparison.kernels) {
    if (kernel.reason.empty()) continue;
    if (most != 0 && shown++ == most) break;
    text += fmt::format("\n{} is {}\n  why: {}\n", short_kernel(kernel.kernel),
                        name_of(kernel.verdict), kernel.reason);
    constexpr size_t kFigures = 6;
    std::string figures;
    for (size_t i = 0; i < kernel.figures.size() && i < kFigures; ++i) {
      const Change& figure = kernel.figures[i];
      figures += fmt::format("{}{} {} instead of {}", i == 0 ? "" : "; ", figure.name,
                             util::group_digits(uint64_t(figure.b + 0.5)),
                             util::group_digits(uint64_t(figure.a + 0.5)));
    }
    if (!figures.empty()) text += "  changed most: " + figures + "\n";
  }
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {{"document", "comparison"},
               {"version", kDocumentVersion},
               {"a",
                {{"source", comparison.source_a},
                 {"gpu", comparison.gpu_a},
                 {"total_ms", comparison.total_a * 1e3}}},
               {"b",
                {{"source", comparison.source_b},
                 {"gpu", comparison.gpu_b},
                 {"total_ms", comparison.total_b * 1e3}}}};
  Json kernels = Json::array();
  for (const KernelChange& kernel : comparison.kernels) {
    Json figures = Json::array();
    for (const Change& figure : kernel.figures)
      figures.push_back(
          {{"name", figure.name}, {"a", figure.a}, {"b", figure.b}, {"change", figure.share()}});
    kernels.push_back({{"kernel", kernel.kernel},
                       {"verdict", name_of(kernel.verdict)},
                       {"calls_a", kernel.calls_a},
                       {"calls_b", kernel.calls_b},
                       {"runtime_a_ms", kernel.seconds_a * 1e3},
                       {"runtime_b_ms", kernel.seconds_b * 1e3},
                       {"total_a_ms", kernel.total_a * 1e3},
                       {"total_b_ms", kernel.total_b * 1e3},
                       {"limit_a", kernel.limit_a},
                       {"limit_b", kernel.limit_b},
                       {"other_shape", kernel.has_other_shape},
                       {"reason", kernel.reason},
                       {"figures", std::move(figures)}});
  }
  json["kernels"] = std::move(kernels);
  return json;
}

}  // namespace wavetap::profile
