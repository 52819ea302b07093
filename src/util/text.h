// Small functions on text that a person reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::util {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);

// Bytes of the UTF-8 sequence that starts `text`, which is not empty; 0 when there is no valid one.
size_t utf8_length(std::string_view text);

// What stands for bytes that are no text.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";
// The text with U+FFFD for every byte that is not part of a valid UTF-8 sequence.
std::string valid_utf8(std::string_view text);

// Control characters, backslash and bytes outside ASCII as \n, \t, \\ or \xNN, so that a name taken
// from a file cannot move the cursor of the terminal it is printed on. Valid UTF-8 is kept, but for
// the control characters U+0080 to U+009F.
std::string escape_control(std::string_view text);
// The same for a line in which names may be escaped already: a backslash stays as it is.
std::string escape_line(std::string_view text);
// The same for several lines: newlines and tabs stay, too.
std::string escape_lines(std::string_view text);

// 1536 -> "1.5 KiB", 17163091968 -> "16.0 GiB"; whole numbers below 1 KiB.
std::string human_bytes(uint64_t bytes);
// 0.0000123 -> "12.30 us"; whole nanoseconds below 1 us.
std::string human_seconds(double seconds);
// 1234567 -> "1 234 567".
std::string group_digits(uint64_t value);
// "1 kernel", "2 kernels".
std::string count_of(uint64_t count, std::string_view noun);

// Every `from` by `to`, from left to right.
void replace_all(std::string& text, std::string_view from, std::string_view to);
// Decimal or 0x-hexadecimal, whole text, with an optional binary suffix k, m or g (case ignored).
std::optional<uint64_t> parse_unsigned(std::string_view text);

// The candidate a user most likely meant: smallest edit distance, when that is at most a third of
// the length, rounded up. Empty when nothing is near.
std::string nearest_name(std::string_view wanted, std::span<const std::string> candidates);

// Breaks text at spaces so that no line exceeds `columns`; words longer than that stay whole.
std::string wrap(std::string_view text, size_t columns, size_t indent = 0);

// Number of terminal cells: code points of UTF-8, control sequences excluded.
size_t display_width(std::string_view text);

}  // namespace wavetap::util
