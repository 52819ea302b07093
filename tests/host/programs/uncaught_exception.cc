// An exception that nobody catches: std::terminate's message and SIGABRT.
#include <stdexcept>

#include "host.h"

int main() {
  host::say("device works: %d", host::use_device(3));
  host::report();
  throw std::runtime_error("nobody catches this");
}
