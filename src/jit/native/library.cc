// The outside of libwavetap_jit.so.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/backend.h"
#include "jit/native/compile.h"
#include "jit/native/host.h"

#include "llvm/Config/llvm-config.h"

namespace wavetap::jit {
namespace {

Host& host() {
  static Host* only = new Host();  // of the compiler's thread, for as long as the process lives
  return *only;
}

const char* host_name() {
  static const auto* name = new std::string(LLVM_VERSION_STRING "," + host().name());
  return name->c_str();
}

Backend::Answer compile(const BlockRequest& request, std::vector<std::byte>* object) {
  const Plan plan = plan_block(request);
  if (!plan.is_worthwhile) return Backend::Answer::kNotWorthwhile;
  *object = compile_plan(host(), request, plan);
  return object->empty() ? Backend::Answer::kFailed : Backend::Answer::kCompiled;
}

bool load(std::span<const std::byte> object, CompiledBlock* block) {
  std::unique_ptr<NativeCode> native = NativeCode::load(object, kEntryName);
  if (native == nullptr) return false;
  block->entry = native->entry();
  block->size_bytes = native->size_bytes();
  block->owner = native.release();
  return true;
}

void release(void* owner) { delete static_cast<NativeCode*>(owner); }

}  // namespace
}  // namespace wavetap::jit

// LLVM's destructors must not run when the process ends: the compiler's thread may be at work until
// the very end. They come here instead of to libc (CMakeLists.txt).
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }

const wavetap::jit::Backend* wavetap_jit_backend() {
  using namespace wavetap::jit;
  static const Backend backend{backend_version(), host_name, compile, load, release};
  return &backend;
}
