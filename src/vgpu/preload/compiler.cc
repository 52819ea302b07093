// dlsym() in front of libc's, or of the recorder's, for three names: HIP opens AMD's compiler library
// itself and asks for its functions. The one that compiles answers what it has compiled before
// (vgpu/compile_cache.h). The other two tell for which actions the library may be asked what they are
// for: it crashes where nothing was said.
#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "base/choosing_entry.h"
#include "base/next_dlsym.h"
#include "vgpu/compile_cache.h"
#include "vgpu/preload/front.h"

namespace wavetap::vgpu::front {
namespace {

// The first compiler library of the process; one that is opened beside it works as without us.
// Written once, by the thread that moves g_finding from kNot to kBusy.
enum class Finding : uint8_t { kNot, kBusy, kDone };
constinit std::atomic<Finding> g_finding{Finding::kNot};
constinit Comgr g_comgr{};

// Actions whose ISA is set; what finds no place is compiled.
constexpr size_t kPlaces = 64;
constinit std::atomic<ComgrHandle> g_with_isa[kPlaces]{};

bool has_isa(ComgrHandle info) {
  for (const auto& place : g_with_isa)
    if (place.load(std::memory_order_relaxed) == info) return true;
  return false;
}

void set_has_isa(ComgrHandle info, bool has) {
  if (info == 0 || has_isa(info) == has) return;
  for (auto& place : g_with_isa) {
    ComgrHandle expected = has ? 0 : info;
    if (place.compare_exchange_strong(expected, has ? info : 0, std::memory_order_relaxed)) return;
  }
}

ComgrStatus create_info(ComgrHandle* info) {
  const ComgrStatus status = g_comgr.create_info(info);
  // The handle of one that is gone can be given again.
  if (status == kComgrSuccess && info != nullptr) set_has_isa(*info, false);
  return status;
}

ComgrStatus set_isa_name(ComgrHandle info, const char* name) {
  const ComgrStatus status = g_comgr.set_isa_name(info, name);
  set_has_isa(info, status == kComgrSuccess && name != nullptr && name[0] != '\0');
  return status;
}

ComgrStatus do_action(uint32_t kind, ComgrHandle info, ComgrHandle input, ComgrHandle result) {
  Driver* const driver = running_driver();
  if (driver == nullptr || !driver->config().keep_compiled || !has_isa(info))
    return g_comgr.do_action(kind, info, input, result);
  return do_action_once(g_comgr, driver->config().compile_cache,
                        compiler_identity(reinterpret_cast<const void*>(g_comgr.do_action)), kind,
                        info, input, result);
}

void* address_of(auto* function) { return reinterpret_cast<void*>(function); }

// Ours for a function of the library, when it has all that we need.
void* compiler_function(void* handle, const char* name) {
  const Dlsym find = next_dlsym();
  void* const found = find(handle, name);
  Finding before = Finding::kNot;
  if (found != nullptr &&
      g_finding.compare_exchange_strong(before, Finding::kBusy, std::memory_order_relaxed)) {
    Comgr comgr{};
    const bool complete = find_comgr(comgr, [&](const char* one) { return find(handle, one); });
    if (complete) g_comgr = comgr;
    // Pairs with the load below: whoever sees kDone sees the functions.
    g_finding.store(Finding::kDone, std::memory_order_release);
  }
  if (found == nullptr || g_finding.load(std::memory_order_acquire) != Finding::kDone) return found;
  if (found == address_of(g_comgr.do_action)) return address_of(&do_action);
  if (found == address_of(g_comgr.create_info)) return address_of(&create_info);
  if (found == address_of(g_comgr.set_isa_name)) return address_of(&set_isa_name);
  return found;
}

bool is_of_compiler(const char* name) {
  constexpr char kStem[] = "amd_comgr_";
  if (::strncmp(name, kStem, sizeof kStem - 1) != 0) return false;
  for (const char* one : {"do_action", "create_action_info", "action_info_set_isa_name"})
    if (::strcmp(name + sizeof kStem - 1, one) == 0) return true;
  return false;
}

}  // namespace
}  // namespace wavetap::vgpu::front

using namespace wavetap::vgpu::front;

extern "C" __attribute__((used, visibility("hidden"))) wavetap::Choice wt_choose_dlsym(
    void* handle, const char* name, const char*, const void*) {
  const wavetap::Dlsym next = wavetap::next_dlsym();
  if (next == nullptr || handle == RTLD_NEXT || handle == RTLD_DEFAULT || name == nullptr ||
      !is_of_compiler(name) || tree_root() == nullptr)
    return {reinterpret_cast<void*>(next), nullptr};
  return {nullptr, compiler_function(handle, name)};
}

WT_ENTRY("dlsym", "wt_choose_dlsym");
