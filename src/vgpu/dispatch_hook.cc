#include "vgpu/dispatch_hook.h"

#include "vgpu/queue_memory.h"
#include "vgpu/queue_scheduler.h"
#include "vgpu/queue_state.h"

namespace wavetap::vgpu {
namespace {

struct Called {
  DispatchHook* hook = nullptr;
  void* state = nullptr;
};

}  // namespace

emu::DispatchResult run_hooked(Queue& queue, GuestMemory& memory,
                               const amd::KernelDispatchPacket& packet, emu::Dispatch& dispatch,
                               DispatchTimes* times) {
  const QueueHooks& hooks = *queue.hooks;
  DispatchView view{.gpu = *queue.gpu,
                    .queue_id = queue.id,
                    .packet = packet,
                    .memory = memory,
                    .dispatch = dispatch,
                    .queue = &queue};
  Called called[kMaxDispatchHooks];
  size_t count = 0;
  bool wants_alone = false;
  for (DispatchHook* hook : hooks.dispatch) {
    const Interest interest = hook->interest(view);
    if (interest == Interest::kNone || count == kMaxDispatchHooks) continue;
    wants_alone |= interest == Interest::kAlone;
    called[count++].hook = hook;
  }
  if (wants_alone) {
    view.alone = queue.scheduler->hold_others(queue, hooks.alone_patience_ms);
    // Stopped while it waited for its turn: another dispatch may still be alone.
    if (queue.stop.load(std::memory_order_relaxed)) {
      if (view.alone) queue.scheduler->release_others(queue);
      return {.fault = {}, .cancelled = true, .counters = {}};
    }
  }
  for (size_t i = 0; i < count; ++i) called[i].state = called[i].hook->before(view);

  if (view.alone) queue.scheduler->limit_hold(queue, hooks.alone_patience_ms);
  times->begin = to_ticks(now());
  const emu::DispatchResult result = hooks.run(hooks.context, *queue.gpu, dispatch);
  times->end = to_ticks(now());

  view.alone = view.alone && queue.scheduler->keep_hold(queue);
  view.result = &result;
  view.times = *times;
  for (size_t i = count; i-- > 0;) called[i].hook->after(view, called[i].state);
  if (view.alone) queue.scheduler->release_others(queue);
  return result;
}

}  // namespace wavetap::vgpu
