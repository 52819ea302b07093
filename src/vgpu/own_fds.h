// Our own file descriptors inside somebody else's process.
//
// The device needs a file per device node and one per buffer. They must not be in the program's
// way: they sit at high numbers, survive a program that closes or overwrites descriptors it never
// opened, and never use up the limit. With a small limit (`ulimit -n 32`) buffers do without a file
// of their own.
//
// Thread-safe, lock-free, no heap. Process-wide by nature: descriptors are.
#pragma once

namespace wavetap::vgpu::own_fds {

// Moves `fd` out of the program's way and remembers it. Returns the new number (the old one is
// closed), or `fd` itself when no higher one is free. Negative input is returned as is.
int adopt(int fd);

// Closes a descriptor that adopt() returned.
void close(int fd);

// True for descriptors we hold. Cheap: one bit.
bool contains(int fd);

// The smallest and largest number worth asking contains() about (lower > upper: none).
int lowest();
int highest();

// May one more buffer have its own file? Raises the soft limit towards the hard one when that is
// what it takes.
bool has_room();

// Raises the soft limit on descriptors, within the hard one. False: it stays as it is.
bool raise_limit();

// Forgets a descriptor without closing it: it was closed behind our back or handed over.
void forget(int fd);

// In the child of a fork: closes every descriptor inherited from the parent's device.
void close_all();

}  // namespace wavetap::vgpu::own_fds
