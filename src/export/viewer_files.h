#pragma once

#include <string_view>

namespace wavetap::exporter {

// The files of web/, put into the program when it is built.
extern const std::string_view kViewerHtml;
extern const std::string_view kViewerCss;
extern const std::string_view kViewerJs;

}  // namespace wavetap::exporter
