// What a process did past the recorder, as far as the rest of the recording gives it away. A recorder
// that `wavetap run` has preloaded sees everything; one that the program opens itself may come after
// HIP's functions were bound, or after the GPU runtime was up.
#include <fmt/format.h>

#include <algorithm>

#include "store/import_process.h"

namespace wavetap::store {

void ProcessImport::add_loss(const char* reason, uint64_t count, const std::string& what) {
  file_.add("wavetap_loss",
            {{}, pid(), first_ns_, std::string(reason), static_cast<int64_t>(count), what});
  result_.losses += count;
  result_.notes.push_back(fmt::format("process {}: {}", pid(), what));
}

void ProcessImport::write_unseen() {
  const char* const reason = loss_name(format::Loss::kBypassed);
  const auto has_library = [&](std::string_view name) {
    return std::any_of(facts_->libraries.begin(), facts_->libraries.end(),
                       [&](const RawLibrary& library) { return library.soname.starts_with(name); });
  };
  // The runtime tells us of its agents when it is initialised, or never.
  if (has_library("libhsa-runtime64.so") && facts_->agents.empty()) {
    uint64_t launches = 0;
    for (const StreamEvents& stream : events_.streams)
      for (const format::CallRecord* call : stream.calls) {
        const Function& f = function(call->function);
        if (call->result == 0 && (f.is_launch || f.is_graph_launch || f.is_copy)) ++launches;
      }
    if (launches > 0)
      add_loss(
          reason, launches,
          fmt::format("the kernels and copies of {} calls are not recorded: the GPU runtime was "
                      "up before the recorder came, or did not load it (HSA_TOOLS_LIB); start "
                      "the program with wavetap run",
                      launches));
  }
  if ((facts_->process().options & format::kOptionLate) == 0 || !has_library("libamdhip64.so"))
    return;
  const auto is_unowned = [](const RawOp& op) {
    return op.record != nullptr && op.kind() != format::Kind::kBarrier && op.owner().call == 0 &&
           op.by_order.call == 0;
  };
  const auto unowned =
      static_cast<uint64_t>(std::count_if(events_.ops.begin(), events_.ops.end(), is_unowned));
  if (unowned > 0)
    add_loss(
        reason, unowned,
        fmt::format("the calls behind {} kernels and copies are not recorded: the program had "
                    "looked HIP's functions up before the recorder came; start it with wavetap "
                    "run, or load the recorder first",
                    unowned));
}

}  // namespace wavetap::store
