// Stream 0: what has to be said once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "format/record.h"

namespace wavetap::record {

// Appends to stream 0 under its lock. The fixed part must have `header` first; texts follow in
// order. Does nothing while there is no session.
void write_fact(const void* fixed, size_t fixed_bytes, format::Kind kind, uint8_t flags,
                std::initializer_list<std::string_view> texts = {});
template <class Fact>
void fact(const Fact& fixed, format::Kind kind, uint8_t flags,
          std::initializer_list<std::string_view> texts = {}) {
  write_fact(&fixed, sizeof fixed, kind, flags, texts);
}

// `write` is called each time a session opens: at the start, and again in a child of fork() that
// goes on recording. It writes the facts that its part of the program knows already. Registered
// once, never removed.
void add_fact_source(void (*write)());
void write_known_facts();  // asks them all

// A loss that needs words of its own; counted and written at once.
void report_loss(format::Loss reason, std::string_view what);

// What is due now and then, at flush and at the end: losses that were counted, and a clock sample.
void write_pending_facts();

// Process-wide numbers.
uint64_t next_operation();  // DispatchRecord::id and friends
uint32_t next_queue();
uint32_t next_code_object();
void forget_operations();  // in a child of fork()

// Path of a file in the session folder, for code objects: "<pid>-<start>.<n>.co". Empty without a
// session. `buffer` holds the path; returns the name relative to the folder.
std::string_view session_file(uint32_t number, char* buffer, size_t size);

}  // namespace wavetap::record
