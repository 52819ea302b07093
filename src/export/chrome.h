#pragma once

#include "export/export.h"

namespace wavetap::exporter {

// RPD's event set (chrome_rpd.cc) and our own, richer one (chrome.cc).
Status write_chrome_rpd(const store::Trace& trace, const Options& options, Sink& sink);
Status write_chrome(const store::Trace& trace, const Options& options, Sink& sink);

}  // namespace wavetap::exporter
