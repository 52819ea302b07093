#include "optimize/sandbox_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdint>

namespace wavetap::optimize {
namespace {

#if defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#endif

// Other calling conventions of x86-64 have numbers from here on.
constexpr uint32_t kForeignCalls = 0x40000000;

constexpr uint32_t kNewNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
                                    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// clang-format off
constexpr long kRefused[] = {
    SYS_ptrace,          SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
    SYS_mount,           SYS_umount2,          SYS_pivot_root,        SYS_chroot,
    SYS_unshare,         SYS_setns,            SYS_bpf,               SYS_perf_event_open,
    SYS_keyctl,          SYS_add_key,          SYS_request_key,       SYS_userfaultfd,
    SYS_init_module,     SYS_finit_module,     SYS_delete_module,     SYS_kexec_load,
    SYS_reboot,          SYS_swapon,           SYS_swapoff,           SYS_settimeofday,
    SYS_clock_settime,   SYS_acct,             SYS_quotactl,          SYS_syslog,
    SYS_socket,          SYS_open_by_handle_at, SYS_name_to_handle_at,
#ifdef SYS_open_tree
    SYS_open_tree,       SYS_move_mount,       SYS_fsopen,            SYS_fsconfig,
    SYS_fsmount,         SYS_fspick,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,  SYS_io_uring_enter,   SYS_io_uring_register,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
};
// clang-format on

constexpr sock_filter load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
constexpr sock_filter answer(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
constexpr uint32_t error(uint32_t number) { return SECCOMP_RET_ERRNO | number; }
// The next instruction runs only if the value is this.
constexpr sock_filter unless_equal_skip(uint32_t value) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

}  // namespace

std::vector<sock_filter> sandbox_filter() {
  std::vector<sock_filter> filter = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      answer(error(EPERM)),
      load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignCalls, 0, 1),
      answer(error(EPERM)),
  };
  for (const long call : kRefused) {
    filter.push_back(unless_equal_skip(static_cast<uint32_t>(call)));
    filter.push_back(answer(error(EPERM)));
  }
#ifdef SYS_clone3
  filter.push_back(unless_equal_skip(SYS_clone3));
  filter.push_back(answer(error(ENOSYS)));
#endif
  // clone with a new namespace; its flags are the first argument, the low half of it.
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  filter.push_back(load(offsetof(seccomp_data, args)));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 0, 1));
  filter.push_back(answer(error(EPERM)));
  filter.push_back(answer(SECCOMP_RET_ALLOW));
  return filter;
}

bool install_sandbox_filter() {
  std::vector<sock_filter> filter = sandbox_filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace wavetap::optimize
