// The page of a search: plain SVG, values under the mouse, nothing to load.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tune/results.h"
#include "tune/tuner.h"

namespace wavetap::tune {
namespace {

using proof::Outcome;

constexpr double kWidth = 420, kHeight = 220, kLeft = 70, kBottom = 40, kTop = 24;

std::string html(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '<') made += "&lt;";
    else if (c == '>') made += "&gt;";
    else if (c == '&') made += "&amp;";
    else if (c == '"') made += "&quot;";
    else made += c;
  }
  return made;
}

struct Dot {
  double x = 0;  // 0 to 1
  const Entry* entry = nullptr;
};

// From objective to height; logarithmic where it spans more than a decade.
struct Scale {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  bool logarithmic = false;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void finish() {
    if (high < low) low = 0, high = 1;
    logarithmic = low > 0 && high / low > 10;
    if (high == low) high = low + (low == 0 ? 1 : std::fabs(low) * 0.1);
  }
  double height(double value) const {
    const double share =
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return kTop + (1 - share) * (kHeight - kTop - kBottom);
  }
};

std::string describe(const Spec& spec, const Entry& entry) {
  std::string text;
  for (const auto& [name, value] : entry.values)
    text += fmt::format("{}={} ", name, to_text(value));
  if (entry.trial.outcome != Outcome::kGood)
    return text + fmt::format("{}: {}", proof::name_of(entry.trial.outcome),
                              entry.trial.reason.substr(0, 200));
  return text + fmt::format("{} {}", spec.objective,
                            objective_text(spec, entry.trial.figures.at("objective")));
}

std::string panel(const Findings& findings, const Scale& scale, const std::string& title,
                  const std::vector<Dot>& dots,
                  const std::vector<std::pair<double, std::string>>& marks) {
  const double width = kWidth - kLeft - 10;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">"
      "<text x=\"{2}\" y=\"14\" class=\"t\">{3}</text>"
      "<path d=\"M{2} {4}V{5}H{6}\" class=\"a\"/>"
      "<text x=\"{7}\" y=\"{8}\" class=\"r\">{9}</text>"
      "<text x=\"{7}\" y=\"{5}\" class=\"r\">{10}</text>",
      kWidth, kHeight, kLeft, html(title), kTop, kHeight - kBottom, kWidth - 10, kLeft - 6,
      kTop + 8, objective_text(findings.spec, scale.high),
      objective_text(findings.spec, scale.low));
  for (const auto& [x, label] : marks)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" class=\"m\">{}</text>", kLeft + x * width,
                       kHeight - kBottom + 30, html(label));
  for (const Dot& dot : dots) {
    const bool good = dot.entry->trial.outcome == Outcome::kGood;
    const double y =
        good ? scale.height(dot.entry->trial.figures.at("objective")) : kHeight - kBottom + 10;
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"><title>{}</title></circle>",
        kLeft + dot.x * width, y, dot.entry == findings.best ? 5 : 3,
        dot.entry == findings.best ? "b"
        : good                     ? "g"
                                   : "f",
        html(describe(findings.spec, *dot.entry)));
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string findings_html(const Findings& findings) {
  Scale scale;
  std::vector<const Entry*> shown;
  for (const Entry& entry : findings.journal.entries()) {
    if (entry.point == kBaselinePoint || entry.part < 1) continue;
    shown.push_back(&entry);
    if (entry.trial.outcome == Outcome::kGood) scale.include(entry.trial.figures.at("objective"));
  }
  scale.finish();
  std::string page = fmt::format(
      "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>wavetap tune: {0}</title>\n"
      "<style>body{{font:14px sans-serif;margin:2em;max-width:90em;color:#222;background:#fff}}"
      "svg{{margin:0 1em 1em 0}}.t{{font-weight:bold}}.a{{fill:none;stroke:#888}}"
      ".r{{text-anchor:end;font-size:11px}}.m{{text-anchor:middle;font-size:11px}}"
      ".g{{fill:#2a6fb0;fill-opacity:.6}}.f{{fill:#c33}}.b{{fill:#e80;stroke:#000}}</style>\n"
      "<h1>{0}</h1><pre>{1}</pre>\n"
      "<p>Each point is an evaluation: {2} ({3}), lower on the axis is less. Red below the axis: no "
      "good, the reason under the mouse. Orange: the best.</p>\n",
      html(findings.spec.name), html(findings_text(findings)), html(findings.spec.objective),
      kind_of_objective(findings.spec));
  std::vector<Dot> in_time;
  for (size_t i = 0; i < shown.size(); ++i)
    in_time.push_back(
        {shown.size() < 2 ? 0.5 : static_cast<double>(i) / static_cast<double>(shown.size() - 1),
         shown[i]});
  page += panel(findings, scale, "in the order of the search", in_time,
                {{0, "1"}, {1, std::to_string(shown.size())}});
  for (const Parameter& parameter : findings.space.parameters()) {
    const size_t count = parameter.values.size();
    const auto place = [&](size_t i) {
      return count < 2 ? 0.5
                       : 0.03 + 0.94 * static_cast<double>(i) / static_cast<double>(count - 1);
    };
    std::vector<Dot> dots;
    std::vector<std::pair<double, std::string>> marks;
    for (size_t i = 0; i < count; ++i)
      if (count <= 12 || i % (count / 8) == 0)
        marks.emplace_back(place(i), to_text(parameter.values[i]).substr(0, 12));
    for (const Entry* entry : shown) {
      const auto value = entry->values.find(parameter.name);
      for (size_t i = 0; value != entry->values.end() && i < count; ++i)
        if (parameter.values[i] == value->second) dots.push_back({place(i), entry});
    }
    page += panel(findings, scale, parameter.name, dots, marks);
  }
  return page + "</html>\n";
}

}  // namespace wavetap::tune
