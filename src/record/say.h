// Words for the user, on the program's standard error.
#pragma once

namespace wavetap::record {

// One line, unless the program has closed or replaced its standard error. `wavetap: ` is put in
// front.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Remembers what standard error is. Before the program changes it.
void note_standard_error();

}  // namespace wavetap::record
