#include "export/chrome.h"
#include "export/export.h"

namespace wavetap::exporter {

const std::vector<Format>& all_formats() {
  static const std::vector<Format>* const all = new std::vector<Format>{
      {"chrome", "Chrome/Kineto JSON for Perfetto, chrome://tracing and PyTorch tools", ".json", true, write_chrome},
  };
  return *all;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : all_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace wavetap::exporter
