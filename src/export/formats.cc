#include "export/formats.h"

namespace wavetap::exporter {

const std::vector<Format>& all_formats() {
  static const std::vector<Format>* const all = new std::vector<Format>{
      {.name = "chrome",
       .help = "Chrome JSON as Kineto writes it, for Perfetto and PyTorch tools",
       .suffix = ".json",
       .needs_args = true,
       .can_split = true,
       .write = write_chrome},
      {.name = "perfetto",
       .help = "Perfetto protobuf trace for ui.perfetto.dev",
       .suffix = ".pftrace",
       .needs_args = true,
       .can_split = true,
       .write = write_perfetto},
      {.name = "html",
       .help = "one page with summary, timeline and flame graphs; works offline",
       .suffix = ".html",
       .needs_args = true,
       .write = write_html},
      {.name = "jsonl",
       .help = "one JSON object per call and op, in time order",
       .suffix = ".jsonl",
       .needs_args = true,
       .can_split = true,
       .write = write_jsonl},
      {.name = "csv",
       .help = "a table or view (--table) as CSV",
       .suffix = ".csv",
       .reads_file = true,
       .write = write_csv},
      {.name = "folded",
       .help = "folded stacks for flame graphs: CPU and GPU time",
       .suffix = ".folded",
       .needs_args = true,
       .write = write_folded},
  };
  return *all;
}

const Format* find_format(std::string_view name) {
  for (const Format& format : all_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace wavetap::exporter
