#include "store/event_counts.h"

#include "store/schema.h"
#include "store/trace.h"

namespace wavetap::store {

void EventCounts::add_op(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel: ++dispatches; break;
    case OpKind::kCopy:
    case OpKind::kFill: ++copies; break;
    case OpKind::kBarrier: ++barriers; break;
    case OpKind::kOther: ++other; break;
  }
}

EventCounts count_events(const Trace& trace) {
  EventCounts counts;
  const Str marker = trace.strings.find(kMarkerName);
  for (const Str name : trace.apis.name) ++(name == marker ? counts.markers : counts.calls);
  const OpKinds kinds(trace);
  for (size_t op = 0; op < trace.ops.size(); ++op) counts.add_op(kinds[op]);
  return counts;
}

}  // namespace wavetap::store
