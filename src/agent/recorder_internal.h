// What the parts of the recorder share among themselves; hooks see recorder.h only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/record.h"

namespace wavetap::agent {

// Writes a LossFact for every reason that has been counted since the last time.
void write_losses();
uint64_t losses_so_far();

uint32_t recording_count();
// format::kOption* that the session was asked for.
uint32_t session_options();

// The program has opened this library itself, after it had begun. Known once the process is started.
bool came_late();

// The calling thread will record nothing more: seals its stream.
void detach_thread();

// The program is about to end: last clock sample, losses, GPU times; nothing is closed, calls may
// still come.
void finish_process();

// Forgets the session without touching its files, as a child of fork() does. For tests.
void forget_session();

}  // namespace wavetap::agent
