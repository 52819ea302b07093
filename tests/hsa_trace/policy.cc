// A recorder with a policy of the tests': dispatches of the kernel `square` (tests/host/square.hip) run
// alone, and standard error tells what their memory held before and after.
//
//   policy: dispatch 1 of square: HIP memory of 1024 bytes, values[3] 0 -> 9
#include <stdio.h>
#include <string.h>

#include "agent/allocations.h"
#include "agent/dispatch_policy.h"
#include "agent/hsa_table.h"

namespace wavetap::agent {
namespace {

constexpr int kLookedAt = 3;

class Look : public DispatchPolicy {
 public:
  Verdict before(DispatchView& dispatch) noexcept override {
    char name[64];
    dispatch.kernel_name(name, sizeof name);
    return strcmp(name, "square") == 0 ? Verdict::kAlone : Verdict::kPass;
  }

  void alone_before(DispatchView& dispatch) noexcept override {
    values_ = 0;
    dispatch.read_kernarg(&values_, sizeof values_);
    before_ = read_value();
  }

  void alone_after(const DispatchView& dispatch, const DispatchTimes& times) noexcept override {
    LiveAllocation memory;
    const bool known = find_allocation(values_ + 1000, &memory);
    dprintf(2, "policy: dispatch %d of square: %s memory of %llu bytes, values[%d] %d -> %d%s%s\n",
            ++count_, known ? memory_source_name(memory.source) : "unknown",
            static_cast<unsigned long long>(memory.bytes), kLookedAt, before_, read_value(),
            times.end > times.start ? "" : ", no times",
            dispatch.kernarg_bytes() >= sizeof values_ ? "" : ", no kernarg");
  }

 private:
  int read_value() const {
    int value = -1;
    hsa().hsa_memory_copy(&value, reinterpret_cast<const void*>(values_ + kLookedAt * sizeof value),
                          sizeof value);
    return value;
  }

  uint64_t values_ = 0;
  int before_ = 0;
  int count_ = 0;
};

Look g_look;

__attribute__((constructor)) void add_policy() {
  add_dispatch_policy(g_look);
  want_allocations();
}

}  // namespace
}  // namespace wavetap::agent
