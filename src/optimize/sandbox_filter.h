// The system calls that a build may not make, as a program of seccomp.
//
// Namespaces take away what lies outside; this takes away the ways back: looking into other processes,
// mounting, new namespaces, kernel modules, keys, BPF, performance counters, and sockets. A socket in the
// file system is reachable although the file system is read-only, and somebody powerful may listen there.
// Compilers need none of it. A refused call gives EPERM; clone3 gives ENOSYS, so that libraries use
// clone, whose flags can be seen.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace wavetap::optimize {

std::vector<sock_filter> sandbox_filter();

// For this process and all that it starts; false where the kernel has no seccomp. Needs no privileges once
// PR_SET_NO_NEW_PRIVS is set.
bool install_sandbox_filter();

}  // namespace wavetap::optimize
