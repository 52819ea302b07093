// Which handlers a session has: built-in ones by name, others from shared libraries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "probe/session.h"

namespace wavetap::probe {

// One entry of a list NAME[=ARGUMENTS],PATH[=ARGUMENTS],…
struct HandlerChoice {
  std::string name;  // of a built-in one, or the path of a library: with a '/' in it
  std::string arguments;

  bool is_library() const { return name.find('/') != std::string::npos; }
};

// A comma inside arguments is written "\,".
std::vector<HandlerChoice> parse_handlers(std::string_view list);
// The other way round.
std::string handlers_text(const std::vector<HandlerChoice>& choices);

// One that could not be had, and why.
struct RefusedHandler {
  std::string name;
  std::string why;
};

// Opens them and adds them to the session; what fails is left out. Loads libraries: never on a thread
// that the program may wait for while it holds the dynamic linker's lock.
std::vector<RefusedHandler> open_handlers(const std::vector<HandlerChoice>& choices,
                                          Session& session);

}  // namespace wavetap::probe
