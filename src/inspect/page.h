// The page of `wavetap probe -o DIR`: what the handlers say, and source beside machine code with the
// figures of every line. One file, which loads nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "inspect/probe_results.h"

namespace wavetap::inspect {

std::string make_page(const ProbeResults& results, const std::vector<std::string>& handlers);

// A page of web/ with its style, script and data in it. `json` may hold any text: it cannot end the
// script element it comes into.
std::string fill_page(std::string_view html, std::string_view css, std::string_view js,
                      std::string json);

// The files of web/, put into the program when it is built.
extern const std::string_view kProbeHtml;
extern const std::string_view kProbeCss;
extern const std::string_view kProbeJs;

}  // namespace wavetap::inspect
