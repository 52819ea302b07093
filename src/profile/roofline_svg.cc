// The roofline as a picture: ceilings from the model file, a point per kernel and level of memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "profile/documents.h"
#include "profile/numbers.h"
#include "util/text.h"

namespace wavetap::profile {
namespace {

constexpr double kWidth = 960, kHeight = 600;
constexpr double kLeft = 80, kRight = 220, kTop = 30, kBottom = 60;

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

const char* color_of(model::Level level) {
  switch (level) {
    case model::Level::kLds: return "#8e44ad";
    case model::Level::kL1: return "#2980b9";
    case model::Level::kGl1: return "#16a085";
    case model::Level::kL2: return "#27ae60";
    case model::Level::kL3: return "#d35400";
    case model::Level::kVram: return "#c0392b";
    case model::Level::kScalarL1: return "#7f8c8d";
  }
  return "#333";
}

class Picture {
 public:
  explicit Picture(const Profile& profile) : profile_(profile) { find_range(); }

  std::string draw() {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
        kWidth, kHeight);
    svg_ += fmt::format("<text x=\"{}\" y=\"18\" font-size=\"14\">Roofline: {}</text>\n", kLeft,
                        escape(profile_.model.marketing_name));
    draw_grid();
    draw_ceilings();
    draw_kernels();
    return svg_ + "</svg>\n";
  }

 private:
  void find_range() {
    double low = 1e300, high = 0, least = 1e300, most = 0;
    for (const KernelProfile& kernel : profile_.kernels) {
      if (kernel.roofline.achieved <= 0) continue;
      least = std::min(least, kernel.roofline.achieved);
      most = std::max(most, kernel.roofline.achieved);
      for (const LevelTraffic& level : kernel.roofline.levels)
        if (level.intensity > 0)
          low = std::min(low, level.intensity), high = std::max(high, level.intensity);
    }
    for (const model::ComputePeak& peak : profile_.peaks.compute)
      most = std::max(most, peak.ceiling.book.per_second);
    if (low > high) low = 0.1, high = 100;
    x0_ = std::floor(std::log10(std::min(low, 0.1)));
    x1_ = std::ceil(std::log10(std::max(high, 1000.0)));
    y1_ = std::ceil(std::log10(std::max(most, 1e9)));
    y0_ = std::min(std::floor(std::log10(std::min(least, most) / 2)), y1_ - 3);
  }

  double x(double intensity) const {
    return kLeft + (std::log10(intensity) - x0_) / (x1_ - x0_) * (kWidth - kLeft - kRight);
  }
  double y(double rate) const {
    return kHeight - kBottom - (std::log10(rate) - y0_) / (y1_ - y0_) * (kHeight - kTop - kBottom);
  }

  void line(double ax, double ay, double bx, double by, const char* color, double width,
            const std::string& title = "") {
    svg_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"{}",
        ax, ay, bx, by, color, width,
        title.empty() ? "/>\n" : "><title>" + escape(title) + "</title></line>\n");
  }

  void draw_grid() {
    for (double decade = x0_; decade <= x1_; ++decade) {
      const double at = x(std::pow(10, decade));
      line(at, kTop, at, kHeight - kBottom, "#e0e0e0", 1);
      svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n", at,
                          kHeight - kBottom + 18, std::pow(10, decade));
    }
    for (double decade = y0_; decade <= y1_; ++decade) {
      const double at = y(std::pow(10, decade));
      line(kLeft, at, kWidth - kRight, at, "#e0e0e0", 1);
      svg_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6,
                          at + 4, rate_text(std::pow(10, decade), "OP/s"));
    }
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">operations per byte</text>\n",
        (kLeft + kWidth - kRight) / 2, kHeight - 16);
  }

  void draw_ceilings() {
    double highest = 0;
    double label = kTop + 10;
    const auto legend = [&](const char* color, const std::string& text) {
      svg_ += fmt::format(
          "<rect x=\"{0}\" y=\"{1}\" width=\"10\" height=\"10\" fill=\"{2}\"/>"
          "<text x=\"{3}\" y=\"{4}\">{5}</text>\n",
          kWidth - kRight + 12, label, color, kWidth - kRight + 26, label + 9, escape(text));
      label += 17;
    };
    // Only the kinds of arithmetic that some kernel uses, and plain f32.
    std::set<model::Rate> used = {{model::Pipe::kVector, model::Precision::kF32}};
    for (const KernelProfile& kernel : profile_.kernels)
      for (const RatePoint& rate : kernel.roofline.rates) used.insert(rate.rate);
    for (const model::ComputePeak& peak : profile_.peaks.compute) {
      const model::Figure& figure = peak.ceiling.known_best();
      if (!used.contains(peak.rate) || figure.per_second <= 0) continue;
      highest = std::max(highest, figure.per_second);
      const double at = y(figure.per_second);
      line(kLeft, at, kWidth - kRight, at, "#333", 1.5,
           fmt::format("{}: {} ({}, {})", model::name_of(peak.rate),
                       rate_text(figure.per_second, "OP/s"), model::name_of(figure.source),
                       figure.basis));
      svg_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                          kWidth - kRight - 4, at - 4, model::name_of(peak.rate));
    }
    for (const model::MemoryPeak& peak : profile_.peaks.memory) {
      const model::Figure& figure = peak.ceiling.known_best();
      if (figure.per_second <= 0 || highest <= 0) continue;
      // From the left edge, or the bottom, to the highest ceiling.
      double from = std::pow(10, x0_);
      if (from * figure.per_second < std::pow(10, y0_))
        from = std::pow(10, y0_) / figure.per_second;
      const double to = highest / figure.per_second;
      const std::string text =
          fmt::format("{} {} ({})", model::name_of(peak.level), rate_text(figure.per_second, "B/s"),
                      model::name_of(figure.source));
      line(x(from), y(from * figure.per_second), x(to), y(highest), color_of(peak.level), 1.5,
           text + ": " + figure.basis);
      legend(color_of(peak.level), text);
    }
    label_ = label + 10;
  }

  void draw_kernels() {
    size_t number = 0;
    for (const KernelProfile& kernel : profile_.kernels) {
      const Roofline& roof = kernel.roofline;
      if (roof.achieved <= 0) continue;
      ++number;
      svg_ += fmt::format("<g class=\"kernel\" data-kernel=\"{}\">\n", number);
      for (const LevelTraffic& level : roof.levels) {
        if (level.intensity <= 0) continue;
        svg_ += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" stroke=\"black\" "
            "stroke-width=\"0.7\"><title>{}\n{}: {:.3g} operations per byte, {} moved\n"
            "{} of {} attainable, {}</title></circle>\n",
            x(level.intensity), y(roof.achieved), color_of(level.level),
            escape(short_kernel(kernel.mean.kernel)), model::name_of(level.level), level.intensity,
            bytes_text(level.bytes), rate_text(roof.achieved, "OP/s"),
            rate_text(roof.attainable, "OP/s"), kernel.is_measured ? "measured" : "modelled");
      }
      const double first = roof.levels.empty() ? 1 : std::max(roof.levels.front().intensity, 1e-9);
      svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(first) + 7,
                          y(roof.achieved) - 6, number);
      if (label_ < kHeight - 30)
        svg_ += fmt::format("<text x=\"{}\" y=\"{}\">{}: {}</text>\n", kWidth - kRight + 12, label_,
                            number, escape(short_kernel(kernel.mean.kernel).substr(0, 26)));
      label_ += 16;
      svg_ += "</g>\n";
    }
  }

  const Profile& profile_;
  double x0_ = -1, x1_ = 3, y0_ = 9, y1_ = 15;
  double label_ = 0;
  std::string svg_;
};

}  // namespace

std::string roofline_svg(const Profile& profile) { return Picture(profile).draw(); }

std::string roofline_html(const Profile& profile) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Roofline</title>\n"
      "<style>body{font-family:sans-serif;margin:1em}table{border-collapse:collapse}"
      "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}"
      "td:first-child,th:first-child{text-align:left}tr:hover{background:#eef}"
      ".faded{opacity:0.12}#tip{position:fixed;background:#ffe;border:1px solid #888;padding:4px 8px;"
      "white-space:pre;display:none;pointer-events:none}</style></head><body>\n" +
      roofline_svg(profile) +
      "<div id=\"tip\"></div>\n<table><tr><th>kernel</th><th>calls</th><th>time</th>"
      "<th>operations</th><th>achieved</th><th>attainable</th><th>limit</th><th>gain at most</th></tr>\n";
  size_t number = 0;
  for (const KernelProfile& kernel : profile.kernels) {
    const bool is_drawn = kernel.roofline.achieved > 0;
    number += is_drawn ? 1 : 0;
    const RankedLimit& first = kernel.limits.front();
    html += fmt::format(
        "<tr data-kernel=\"{}\"><td>{}{}</td><td>{}</td><td>{} {}</td><td>{:.4g}</td><td>{}</td><td>{}</td>"
        "<td title=\"{}\">{}</td><td>{}</td></tr>\n",
        is_drawn ? number : 0, is_drawn ? fmt::format("{}: ", number) : "",
        escape(short_kernel(kernel.mean.kernel)), kernel.calls, util::human_seconds(kernel.seconds),
        kernel.is_measured ? "" : "(modelled)", kernel.roofline.operations,
        rate_text(kernel.roofline.achieved, "OP/s"), rate_text(kernel.roofline.attainable, "OP/s"),
        escape(first.evidence), escape(title_of(first.limit)), gain_text(first.gain));
  }
  // A row under the mouse leaves only its kernel; a point says what it is.
  html +=
      "</table>\n<script>\n"
      "const groups = document.querySelectorAll('g.kernel');\n"
      "for (const row of document.querySelectorAll('tr[data-kernel]')) {\n"
      "  row.addEventListener('mouseenter', () => groups.forEach(g =>\n"
      "    g.classList.toggle('faded', row.dataset.kernel !== '0' && g.dataset.kernel !== "
      "row.dataset.kernel)));\n"
      "  row.addEventListener('mouseleave', () => groups.forEach(g => g.classList.remove('faded')));\n"
      "}\n"
      "const tip = document.getElementById('tip');\n"
      "for (const point of document.querySelectorAll('circle')) {\n"
      "  const text = point.querySelector('title').textContent;\n"
      "  point.addEventListener('mousemove', e => { tip.textContent = text; tip.style.display = 'block';\n"
      "    tip.style.left = e.clientX + 12 + 'px'; tip.style.top = e.clientY + 12 + 'px'; });\n"
      "  point.addEventListener('mouseleave', () => { tip.style.display = 'none'; });\n"
      "}\n</script></body></html>\n";
  return html;
}

}  // namespace wavetap::profile
