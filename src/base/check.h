// What must hold because we made it so. A check that fails is a bug of ours, never of the input or
// of the machine: those are a Result, a loss or a fault.
//
//   WT_CHECK(row < rows_, "a part ends inside the table");          offline; on in release builds
//   if (!WT_SOFT_CHECK(slot != nullptr, "a slot is free")) return;  inside the user's process
//
// A failed WT_CHECK says so and ends the process with status 3. A failed WT_SOFT_CHECK is counted,
// says so the first time, and lets the program go on; the expression is the condition, so that the
// caller can leave out what does not make sense any more. Debug builds trap in both.
#pragma once

#include <cstdint>

namespace wavetap::check {

[[noreturn]] void failed(const char* file, int line, const char* what) noexcept;
// Returns false.
bool failed_softly(const char* file, int line, const char* what) noexcept;
// Since the process began.
uint64_t soft_failures() noexcept;

}  // namespace wavetap::check

#define WT_CHECK(condition, what)                                                              \
  do {                                                                                         \
    if (__builtin_expect(!(condition), 0)) ::wavetap::check::failed(__FILE__, __LINE__, what); \
  } while (0)

#define WT_SOFT_CHECK(condition, what)                  \
  (__builtin_expect(static_cast<bool>(condition), 1) || \
   ::wavetap::check::failed_softly(__FILE__, __LINE__, what))
