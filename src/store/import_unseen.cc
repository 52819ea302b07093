// What a process did past the recorder, as far as the rest of the recording gives it away. A recorder
// that `wavetap run` has preloaded sees everything; one that the program opens itself may come after
// HIP's functions were bound, or after the GPU runtime was up.
#include <fmt/format.h>

#include <algorithm>

#include "store/import_parts.h"

namespace wavetap::store {
namespace {

void add_loss(ImportContext& import, uint64_t count, const std::string& what) {
  import.writer.put(rows::LossEvent{.pid = import.pid(),
                                    .time = import.first_ns,
                                    .reason = loss_name(format::Loss::kBypassed),
                                    .count = count,
                                    .what = what});
  import.result.losses += count;
  import.note(fmt::format("process {}: {}", import.pid(), what));
}

bool has_library(const RawFacts& facts, std::string_view name) {
  return std::any_of(facts.libraries.begin(), facts.libraries.end(),
                     [&](const RawLibrary& library) { return library.soname.starts_with(name); });
}

// Calls that should have made a GPU do something.
uint64_t count_launches(ImportContext& import) {
  uint64_t launches = 0;
  for (const StreamEvents& stream : import.events.streams)
    for (const format::CallRecord* call : stream.calls) {
      const amd::HipDoes does = import.functions[call->function].does;
      if (call->result == 0 && (does == amd::HipDoes::kLaunch ||
                                does == amd::HipDoes::kGraphLaunch || does == amd::HipDoes::kCopy))
        ++launches;
    }
  return launches;
}

}  // namespace

void import_unseen(ImportContext& import) {
  // The runtime tells us of its agents when it is initialised, or never.
  if (has_library(import.facts, "libhsa-runtime64.so") && import.facts.agents.empty())
    if (const uint64_t launches = count_launches(import); launches > 0)
      add_loss(import, launches,
               fmt::format("the kernels and copies of {} calls are not recorded: the GPU runtime "
                           "was up before the recorder came, or did not load it (HSA_TOOLS_LIB); "
                           "start the program with wavetap run",
                           launches));
  if ((import.facts.process().options & format::kOptionLate) == 0 ||
      !has_library(import.facts, "libamdhip64.so"))
    return;
  const auto is_unowned = [](const RawOp& op) {
    return op.record != nullptr && op.kind() != format::Kind::kBarrier && op.owner().call == 0 &&
           op.by_order.call == 0;
  };
  const std::vector<RawOp>& ops = import.events.ops;
  const auto unowned = static_cast<uint64_t>(std::count_if(ops.begin(), ops.end(), is_unowned));
  if (unowned > 0)
    add_loss(import, unowned,
             fmt::format("the calls behind {} kernels and copies are not recorded: the program had "
                         "looked HIP's functions up before the recorder came; start it with "
                         "wavetap run, or load the recorder first",
                         unowned));
}

}  // namespace wavetap::store
