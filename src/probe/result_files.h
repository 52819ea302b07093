// ResultFiles: what a session leaves, in a folder that `wavetap probe` reads when the program has
// ended. Every process has files of its own, appended to in single writes, so that a process that is
// killed leaves everything up to its last finished dispatch.
//
//   PID.lines        a line of JSON each:
//     {"type":"dispatch", "dispatch", "kernel", …}     a dispatch that was probed, when it ends
//     {"type":"left_out"}                              one that was not
//     {"type":"code", "code", "file", …}               what the sites of a code are; with "sites_of", a
//                                                      kernel, those of its site table
//     {"type":"result", "handler", "dispatch", "data"} dispatch 0: of the session
//     {"type":"refused", "handler", "why"}             a handler that could not be opened
//     {"type":"lost", "handler", "count"}              events that a handler did not keep
//   PID.NAME.SUFFIX  what handlers write themselves
//   code/HASH.co     code objects; HASH.bin: bare machine code that belongs to none
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "probe/session.h"

namespace wavetap::probe {

inline constexpr uint32_t kResultFormat = 1;

// What end_dispatch() keeps beside the session's own facts.
struct DispatchRecord {
  uint64_t id = 0;
  uint64_t launch = 0;       // which of the matching ones, from 1
  uint64_t dispatch_id = 0;  // as the queue counts
  std::string fault;         // "" for none
  // The clock that kernels timed themselves with; "" for none.
  std::string clock;
  uint32_t clock_bits = 0;
  bool clock_is_emulated = false;
};

// Thread-safe.
class ResultFiles : public Surroundings {
 public:
  explicit ResultFiles(std::string folder) : folder_(std::move(folder)) {}

  // --- Surroundings, but for source() and buffer()
  void result(const char* handler, uint64_t dispatch, std::string_view json) noexcept override;
  bool write(const char* handler, const char* suffix, std::string_view bytes) noexcept override;
  void lose(const char* handler, uint64_t count) noexcept override;

  void refused(const std::string& handler, const std::string& why);
  void left_out();
  void dispatch(const DispatchRecord& record, const emu::Dispatch& dispatch,
                const DispatchFacts& facts, uint32_t status);
  // `image`: the code object that holds the code, empty when there is none: then `bytes` is the code
  // itself. `linked`: where the code begins in the image.
  void code(const Code& code, std::span<const std::byte> image, uint64_t linked,
            std::span<const std::byte> bytes);
  // Of an instrumented kernel: its sites are those of the site table of a code object in the folder.
  void code(const Code& code, const std::string& file, const std::string& kernel);

 private:
  bool append(const std::string& name, std::string_view bytes);
  void line(const std::string& text);
  std::string keep(std::span<const std::byte> bytes, const char* suffix);

  const std::string folder_;
  std::atomic<bool> complained_{false};
  std::mutex mutex_;
  std::set<std::string> kept_;  // files of code/
};

}  // namespace wavetap::probe
