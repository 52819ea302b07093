#include "record/state.h"

namespace wavetap::record {

constinit ForkWiped g_fork_wiped;
__thread Thread t_thread __attribute__((tls_model("initial-exec"))) = {};
void (*g_harvest)() = nullptr;

}  // namespace wavetap::record
