// What the output goes to, and how much decoration it bears.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wavetap::util {

// Width to lay text out for: the terminal's when `fd` is one (between 60 and 200), else 80, so that
// output in a file or a pipe never depends on who produced it.
size_t output_columns(int fd);

// True when `fd` is a terminal that understands colour and NO_COLOR is not set
// (https://no-color.org).
bool wants_colour(int fd);

enum class Style : unsigned char { kBold, kDim, kRed, kGreen, kYellow };

// The text between the style's escape sequences, or untouched when `enabled` is false.
std::string styled(std::string_view text, Style style, bool enabled);

}  // namespace wavetap::util
