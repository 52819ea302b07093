// Lines of JSON as code in other processes writes them: built up key by key, appended to a file in one write.
#pragma once

#include <cstdint>
#include <string>

namespace wavetap {

// Each ends with a comma; finish_object() turns the last one into a brace.
void append_number(std::string& line, const char* key, uint64_t value);
// Bytes outside ASCII are kept; the rest of UTF-8's rules are the value's own business.
void append_text(std::string& line, const char* key, const std::string& value);
void append_extent(std::string& line, const char* key, const uint64_t (&extent)[3]);
template <class T>
void append_extent(std::string& line, const char* key, const T (&extent)[3]) {
  const uint64_t wide[3] = {extent[0], extent[1], extent[2]};
  append_extent(line, key, wide);
}
void finish_object(std::string& line);

// Opens the file for this one write: no descriptor of ours stays in the program, and a forked child
// needs nothing. False: not, or not all of it.
bool append_to_file(const std::string& path, const std::string& text);

}  // namespace wavetap
