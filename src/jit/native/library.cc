// The outside of libwavetap_jit.so.
#include <memory>

#include "jit/backend.h"
#include "jit/native/compile.h"
#include "jit/native/host.h"

namespace wavetap::jit {
namespace {

Backend::Answer compile(const BlockRequest& request, CompiledBlock* block) {
  static Host* host = new Host();  // of the compiler's thread, for as long as the process lives
  const Plan plan = plan_block(request);
  if (!plan.is_worthwhile) return Backend::Answer::kNotWorthwhile;
  const std::vector<std::byte> object = compile_plan(*host, request, plan);
  if (object.empty()) return Backend::Answer::kFailed;
  std::unique_ptr<NativeCode> native = NativeCode::load(object, kEntryName);
  if (native == nullptr) return Backend::Answer::kNotWorthwhile;
  block->entry = native->entry();
  block->size_bytes = native->size_bytes();
  block->owner = native.release();
  return Backend::Answer::kCompiled;
}

void release(void* owner) { delete static_cast<NativeCode*>(owner); }

}  // namespace
}  // namespace wavetap::jit

// LLVM's destructors must not run when the process ends: the compiler's thread may be at work until
// the very end. They come here instead of to libc (CMakeLists.txt).
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }

const wavetap::jit::Backend* wavetap_jit_backend() {
  using namespace wavetap::jit;
  static const Backend backend{backend_version(), compile, release};
  return &backend;
}
