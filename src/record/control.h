// The control socket of this process (format/session.h says where it is and what is spoken).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wavetap::record {

enum class Request : uint8_t { kUnknown, kStart, kStop, kFlush, kStatus };

// What a request does. Set once, before the socket is served; kept, not copied.
struct Commands {
  uint32_t (*start)(uint32_t by_pid);  // the count afterwards
  uint32_t (*stop)(uint32_t by_pid);
  void (*flush)(uint32_t by_pid);
  uint32_t (*count)();
};
void set_commands(const Commands* commands);

// Lines "key value\n" for `wavetap status`: the number of bytes put into `buffer`. Registered once,
// never removed.
void add_status(size_t (*write)(char* buffer, size_t size));

// File thread: opens the socket the first time, then answers whoever is waiting: `answer` has
// answer_request() carried out. Never blocks for long. True: somebody was there.
using Answer = size_t (*)(Request request, uint32_t pid, char* out, size_t size);
bool serve_control(Answer answer);

// At exit: removes the socket's name.
void close_control();
// In a child of fork(): the socket is the parent's.
void forget_control();

// A request line without its newline; blanks around it are allowed.
Request parse_request(std::string_view line);

// Carries the request out and writes the answer: lines that end with "ok" or "error <text>". The
// number of bytes. `pid`: who asks.
size_t answer_request(Request request, uint32_t pid, char* out, size_t size);

}  // namespace wavetap::record
