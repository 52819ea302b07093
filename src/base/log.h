// Log lines of code that runs inside the user's process. Off unless WT_LOG asks: WT_LOG=vgpu:debug,
// emu:info or just WT_LOG=debug. The module is the folder. Lines go to stderr (or the file named by
// WT_LOG_FILE) with one write() each, so lines of several threads and processes do not mix.
//
// Problems a user must see go through complain(), which prints whatever WT_LOG says.
#pragma once

namespace wavetap::log {

enum class Level : unsigned char { kOff, kError, kInfo, kDebug };

// True when lines of `module` at `level` are wanted. Cheap enough for warm paths, not for hot ones.
bool enabled(const char* module, Level level);

void line(const char* module, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Prints `wavetap: <text>` on stderr, unconditionally.
void complain(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace wavetap::log

#define WT_DEBUG(module, ...)                                           \
  do {                                                                  \
    if (::wavetap::log::enabled(module, ::wavetap::log::Level::kDebug)) \
      ::wavetap::log::line(module, __VA_ARGS__);                        \
  } while (0)
