#include "inspect/page.h"

#include <fmt/format.h>

#include <set>

#include "inspect/heatmap_picture.h"
#include "inspect/reports.h"
#include "inspect/site_figures.h"
#include "inspect/source_text.h"
#include "util/json.h"

namespace wavetap::inspect {
namespace {

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
  }
  return text;
}

Json code_json(const ProbedCode& code, std::set<std::string>& files) {
  Json sites = Json::array();
  for (const ListedSite& site : code.listing.sites) {
    Json frames = Json::array();
    for (const Frame& frame : site.frames) {
      files.insert(frame.file);
      frames.push_back({frame.file, frame.line, frame.function});
    }
    sites.push_back({{"a", fmt::format("{:x}", site.address)},
                     {"t", site.text},
                     {"f", frames},
                     {"u", site.frames.empty() ? 0 : codeobj::users_frame(site.frames)}});
  }
  Json blocks = Json::array();
  for (size_t i = 0; i < code.listing.facts.size(); ++i)
    if (code.listing.facts[i].block == i) blocks.push_back(i);
  return {{"function", code.listing.function}, {"sites", std::move(sites)}, {"blocks", blocks}};
}

Json figures_json(const SiteFigures& figures) {
  Json described = Json::object();
  const auto put = [&](const char* key, uint64_t value) {
    if (value != 0) described[key] = value;
  };
  put("count", figures.count), put("lanes", figures.lanes);
  put("lines", figures.lines), put("ideal", figures.ideal_lines);
  put("lds", figures.lds_cycles), put("lds_ideal", figures.lds_ideal);
  put("ticks", figures.ticks);
  put("parted", figures.parted);
  return described;
}

// Inside a script element no text may end it.
void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

std::string make_page(const ProbeResults& results, const std::vector<std::string>& handlers) {
  std::set<std::string> files;
  Json codes = Json::array();
  for (const ProbedCode& code : results.codes) codes.push_back(code_json(code, files));
  Json kernels = Json::array();
  for (const ProbedKernel& kernel : results.kernels) {
    Json reported = Json::array();
    for (const Report& report : reports())
      if (kernel.told.contains(report.handler))
        reported.push_back({{"handler", report.handler},
                            {"text", report.text(results, kernel, {.rows = 200, .columns = 0})}});
    Json figures = Json::array();
    for (const auto& [key, of_site] : site_figures(kernel))
      figures.push_back({key.code, key.site, figures_json(of_site)});
    kernels.push_back({{"kernel", kernel.kernel},
                       {"model", kernel.model},
                       {"target", kernel.target},
                       {"wave_size", kernel.wave_size},
                       {"dispatches", kernel.dispatches},
                       {"reports", std::move(reported)},
                       {"figures", std::move(figures)},
                       {"heatmap", kernel.heat.empty() ? "" : base64(heatmap_picture(kernel))}});
  }
  SourceText texts;
  Json sources = Json::object();
  for (const std::string& file : files) sources[file] = texts.lines(file);
  const Json data = {{"kernels", std::move(kernels)},
                     {"codes", std::move(codes)},
                     {"sources", std::move(sources)},
                     {"all", to_text(results, handlers, {.rows = 50, .columns = 0})}};
  return fill_page(kProbeHtml, kProbeCss, kProbeJs, util::json_line(data));
}

std::string fill_page(std::string_view html, std::string_view css, std::string_view js,
                      std::string json) {
  replace_all(json, "</", "<\\/");
  replace_all(json, "<!--", "<\\!--");
  std::string page(html);
  // In this order: what is put in is not searched again for what comes earlier.
  replace_all(page, "/*CSS*/", css);
  replace_all(page, "/*JS*/", js);
  const std::string_view mark = "/*DATA*/";
  page.replace(page.find(mark), mark.size(), json);
  return page;
}

}  // namespace wavetap::inspect
