// The control socket of this process (format/session.h says where it is and what is spoken).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wavetap::agent {

// File thread: opens the socket the first time, then answers whoever is waiting. Never blocks for
// long. True: somebody was there.
bool serve_control();

// At exit: removes the socket's name.
void close_control();
// In a child of fork(): the socket is the parent's.
void forget_control();

enum class Request : uint8_t { kUnknown, kStart, kStop, kFlush, kStatus };

// A request line without its newline; blanks around it are allowed.
Request parse_request(std::string_view line);

// Carries the request out and writes the answer: lines that end with "ok" or "error <text>". The
// number of bytes. `pid`: who asks.
size_t answer_request(Request request, uint32_t pid, char* out, size_t size);

}  // namespace wavetap::agent
