// The host's side of calls that kernels make: printf and assert, and memory for the device's heap.
//
// A kernel gets the address of a buffer as a hidden argument. A wave that calls takes a packet from
// the buffer's free stack, fills in a service and eight words for each of its lanes, pushes the packet
// on the ready stack, adds to a signal and waits until the packet's ready bit is clear. The answer
// lies where the words were. Whoever serves the buffer takes the whole ready stack at once.
//
//   buffer   0 headers   8 payloads   16 signal   24 free stack   32 ready stack   40 index mask
//   header   0 next      8 lanes      16 service  20 control (bit 0: ready)
//   payload  64 lanes of 8 words
//
// Entries of the stacks are packet numbers below the index mask and a tag above it, which a wave
// advances whenever it takes a packet. The protocol is that of AMD's device library and HIP runtime
// (ockl's hostcall, rocclr's devhostcall), the same from ROCm 5 on. Kernels that print into a plain
// buffer (-mprintf-kind=buffered, OpenCL) make no calls and need nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::replay {

// What printf of a kernel with these words writes: format and strings in place, padded to 8 bytes, each
// number a word. The words are a kernel's: whatever they say, no byte beyond them is read.
std::string format_printf(std::span<const uint64_t> words);

struct HostServices {
  std::function<void(std::string_view text, bool is_error)> print;  // may be empty
  std::function<uint64_t(uint64_t size_bytes)> allocate;            // 0: there is no more
  std::function<void(uint64_t address)> release;
};

// serve() from any thread, reset() while no kernel runs.
class HostcallServer {
 public:
  static uint64_t bytes_for(uint32_t packets);
  // As many as there are waves that can wait at once.
  static uint32_t packets_for(uint64_t waves);

  // `memory` has bytes_for(packets) bytes and lies at `address` for the GPU. With `interrupts` waves
  // tell that they wait (s_sendmsg), otherwise somebody has to look.
  HostcallServer(std::span<std::byte> memory, uint64_t address, uint32_t packets, bool interrupts,
                 HostServices services);

  // An empty buffer, for the next run.
  void reset();
  // Answers the calls that wait. False when one of them cannot be answered: see refusal().
  bool serve();
  std::string refusal() const;

  uint64_t address() const { return address_; }

 private:
  bool answer(uint32_t service, uint64_t* words);
  bool take_message(uint64_t* words);

  const std::span<std::byte> memory_;
  const uint64_t address_;
  const uint32_t packets_;
  const bool interrupts_;
  const HostServices services_;
  mutable std::mutex mutex_;                            // the rest
  std::map<uint64_t, std::vector<uint64_t>> messages_;  // begun and not ended
  uint64_t next_message_ = 0;
  std::string refusal_;
};

}  // namespace wavetap::replay
