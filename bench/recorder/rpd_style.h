// The baseline the recorder is measured against: one call written the way RPD writes it.
//
// Not RPD's code but its method, written again from what it does for one HIP call: two readings of CLOCK_MONOTONIC, a
// look-up of the function's name in a table behind a lock, a row into a ring behind another lock; a thread that wakes
// when 4096 rows wait and inserts them into a temporary SQLite table, one transaction a batch; and at the end a copy of
// the temporary table into the real one. A full ring makes the program wait.
//
// What RPD does besides (the runtime's callbacks, rows for kernels and copies, texts of arguments) is left out, so the
// baseline is on RPD's side.
#pragma once

#include <cstdint>

namespace rpd_style {

// Opens `path`, which is replaced. Ends the program when it cannot.
void open(const char* path);
int64_t now();
void record_call(const char* name, int64_t start, int64_t end);
// Writes what is left and copies everything into the real table.
void close();

}  // namespace rpd_style
