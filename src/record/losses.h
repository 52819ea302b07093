// What could not be recorded, counted. facts.h writes it down.
#pragma once

#include <cstdint>

#include "format/record.h"

namespace wavetap::record {

inline constexpr int kLossKinds = 7;

// Any thread, also in a signal handler.
void count_loss(format::Loss reason, uint64_t events = 1);
// One that is written down already.
void count_written_loss(format::Loss reason);
uint64_t losses_so_far();

// Counted since the last time this was asked for the same reason.
uint64_t take_new_losses(format::Loss reason);
// A child of fork() has lost nothing yet.
void forget_losses();

}  // namespace wavetap::record
