#include "export/formats.h"

namespace wavetap::exporter {

const std::vector<Format>& all_formats() {
  static const std::vector<Format>* const all = new std::vector<Format>{
      {"chrome", "Chrome JSON as Kineto writes it, for Perfetto and PyTorch tools", ".json", true,
       true, write_chrome},
      {"perfetto", "Perfetto protobuf trace for ui.perfetto.dev", ".pftrace", true, true,
       write_perfetto},
      {"html", "one page with summary, timeline and flame graphs; works offline", ".html", true,
       false, write_html},
      {"jsonl", "one JSON object per call and op, in time order", ".jsonl", true, true,
       write_jsonl},
      {"csv", "a table or view (--table) as CSV", ".csv", false, false, write_csv,
       /*reads_file=*/true},
      {"folded", "folded stacks for flame graphs: CPU and GPU time", ".folded", true, false,
       write_folded},
  };
  return *all;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : all_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace wavetap::exporter
