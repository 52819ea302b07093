// Host memory faults on our own threads become return values.
//
// The page table says which host bytes back a GPU address, but the program can pull them away at
// any moment: it unmaps a pinned buffer, truncates a shared file, changes a protection. The GPU
// would take a page fault then; a thread of ours takes SIGSEGV or SIGBUS. run_guarded() turns that
// into `false`.
//
// The handler belongs to the process, so the program's own handlers must keep working: faults
// outside run_guarded() are passed to the program's handler, with the meaning it had. Where
// sigaction() is ours to interpose, the program's later changes go to claim_sigaction(), and it
// never sees our handler. Where it is not, a newcomer replaces ours; run_guarded() notices within
// milliseconds, remembers the newcomer and puts ours in front again.
#pragma once

#include <signal.h>

#include <cstdint>

namespace wavetap::vgpu {

// Runs body(arg). True: it returned. False: it touched host memory that is not there (or not
// writable); *fault_address is the host address. The body is left by siglongjmp: it must not own
// anything with a destructor, hold a lock or be inside malloc when it touches foreign memory. May
// be nested. Any thread.
bool run_guarded(void (*body)(void*), void* arg, uint64_t* fault_address);

// What the program's sigaction(signal, action, old) means once our handler is installed for the
// signal: changes and reports the disposition the program believes in. False: not ours, do the real
// call. Safe in signal handlers, as sigaction() is.
bool claim_sigaction(int signal, const struct sigaction* action, struct sigaction* old);

// Looks whether the handler is still ours and installs it if not: what run_guarded() does once in a
// while on entry, for callers that then guard many small accesses with guarded().
void arm_guard();

// run_guarded() for a callable, without the look at the handler (some 200 ns).
bool run_armed(void (*body)(void*), void* arg, uint64_t* fault_address);
template <class Body>
bool guarded(Body body, uint64_t* fault_address) {
  return run_armed([](void* arg) { (*static_cast<Body*>(arg))(); }, &body, fault_address);
}

}  // namespace wavetap::vgpu
