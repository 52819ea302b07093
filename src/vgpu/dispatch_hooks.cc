#include "vgpu/dispatch_hooks.h"

#include <new>

#include "vgpu/capture_hook.h"
#include "vgpu/counters_hook.h"
#include "vgpu/probe_hook.h"
#include "vgpu/sanitize_hook.h"

namespace wavetap::vgpu {
namespace {

DispatchHook* make_counters_hook(const HookContext& context) {
  if (context.config.counters_file.empty()) return nullptr;
  return new (std::nothrow)
      CountersHook(context.config.counters_file, context.config.cache_counters,
                   context.config.warm_caches ? cachesim::Start::kWarm : cachesim::Start::kCold);
}

DispatchHook* make_capture_hook(const HookContext& context) {
  if (context.config.capture_dir.empty()) return nullptr;
  return new (std::nothrow) CaptureHook(context.config, context.allocations);
}

DispatchHook* make_sanitize_hook(const HookContext& context) {
  if (context.config.findings_file.empty()) return nullptr;
  return new (std::nothrow) SanitizeHook(context.config, context.allocations, context.gpus);
}

DispatchHook* make_probe_hook(const HookContext& context) {
  if (context.config.probe_dir.empty()) return nullptr;
  return new (std::nothrow) ProbeHook(context.config, context.allocations);
}

// Outermost first: what is further down sees what those above have changed.
constexpr DispatchHook* (*kMakers[])(const HookContext&) = {
    make_counters_hook,
    make_capture_hook,
    make_sanitize_hook,
    make_probe_hook,
};
static_assert(std::size(kMakers) <= kMaxDispatchHooks);

}  // namespace

std::vector<DispatchHook*> make_dispatch_hooks(const HookContext& context) {
  std::vector<DispatchHook*> hooks;
  for (const auto make : kMakers)
    if (DispatchHook* hook = make(context)) hooks.push_back(hook);
  return hooks;
}

}  // namespace wavetap::vgpu
