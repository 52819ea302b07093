// The files of web/ that the page of a trace is made of, put into the program when it is built.
#pragma once

#include <string_view>

namespace wavetap::itrace {

extern const std::string_view kTraceHtml;
extern const std::string_view kTraceCss;
extern const std::string_view kTraceJs;

}  // namespace wavetap::itrace
