// The writers behind export.h's table, one file each.
#pragma once

#include "export/export.h"

namespace wavetap::exporter {

Status write_chrome(const store::Trace& trace, const Options& options, Sink& sink);
Status write_perfetto(const store::Trace& trace, const Options& options, Sink& sink);
Status write_jsonl(const store::Trace& trace, const Options& options, Sink& sink);
Status write_csv(const store::Trace& trace, const Options& options, Sink& sink);
Status write_html(const store::Trace& trace, const Options& options, Sink& sink);
Status write_folded(const store::Trace& trace, const Options& options, Sink& sink);

}  // namespace wavetap::exporter
