// Markers: ranges and moments that the program names itself.
#pragma once

#include <cstdint>

#include "format/record.h"

namespace wavetap::record {

// Appends a MarkerRecord to this thread's stream. Null texts mean "". Does nothing while recording
// is stopped. `flags`: 0, or format::kMarkerNamed when the category is the range's own name.
void write_marker(format::MarkerKind kind, uint64_t range, const char* message, const char* domain,
                  const char* category, uint8_t flags = 0);

// From now on, notes ranges whose name matches `pattern`, with * ? and [] as in file names. The text
// must stay. Recording or not.
void watch_ranges(const char* pattern);
// A range of that kind is open: one that this thread has pushed, or one that any thread has started.
bool is_in_watched_range();

// Numbers for ranges that nobody else numbers.
uint64_t next_range();

// Depth of this thread's pushed ranges: enter returns the depth of the new one, leave that of the
// one that ends, -1 when there is none.
int enter_range();
int leave_range();

}  // namespace wavetap::record
