#include "agent/captured_code.h"

#include <algorithm>
#include <new>

#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "agent/swap_map.h"
#include "base/sys_files.h"
#include "codeobj/code_object.h"

namespace wavetap::agent {
namespace {

constinit LockWord g_code_lock;
constinit SwapMap<const CapturableKernel> g_kernels;
constinit std::vector<CodeInMemory>* g_code = nullptr;  // under g_code_lock
using Choose = bool (*)(const std::string&, const std::string&);
constinit Choose g_chosen = nullptr;

struct Frozen {
  uint64_t executable;
  uint64_t agent;
};

HsaStatus note_symbol(uint64_t, uint64_t, uint64_t symbol, void* data) {
  const auto get = hsa().hsa_executable_symbol_get_info;
  uint32_t type = 0, length = 0;
  if (get(symbol, kSymbolType, &type) != kHsaSuccess || type != kSymbolKindKernel)
    return kHsaSuccess;
  std::string name;
  uint64_t object = 0;
  get(symbol, kSymbolNameLength, &length);
  name.resize(length);
  get(symbol, kSymbolName, name.data());
  if (name.ends_with(".kd")) name.resize(name.size() - 3);
  get(symbol, kSymbolKernelObject, &object);
  const std::string shown = codeobj::demangle(name);
  if (object == 0 || !g_chosen(shown, name)) return kHsaSuccess;
  auto* const kernel = new (std::nothrow) CapturableKernel;
  if (kernel == nullptr) return kHsaSuccess;
  kernel->name = shown;
  kernel->executable = static_cast<const Frozen*>(data)->executable;
  g_kernels.set(object, kernel);
  return kHsaSuccess;
}

void note_code(const LoadedCodeObject& where, void* data) {
  const auto& frozen = *static_cast<const Frozen*>(data);
  if (where.agent != frozen.agent) return;
  CodeInMemory code;
  code.executable = frozen.executable;
  code.agent = where.agent;
  code.load_base = where.load_base;
  code.load_bytes = where.load_bytes;
  code.load_delta = where.load_delta;
  code.uri = where.uri;
  const auto* const memory = static_cast<const std::byte*>(where.memory);
  if (memory != nullptr && code.uri.starts_with("file://")) {
    code.image = memory;
    code.image_bytes = where.bytes;
  } else if (memory != nullptr) {
    code.copy.assign(memory, memory + where.bytes);
  } else if (where.file >= 0) {
    struct stat status {};
    if (sys::fstat(where.file, &status) != 0) return;
    const auto bytes = static_cast<uint64_t>(status.st_size);
    std::byte* const mapped =
        wavetap::sys::map(nullptr, bytes, PROT_READ, MAP_PRIVATE, where.file, 0);
    if (mapped == nullptr) return;
    code.copy.assign(mapped, mapped + bytes);
    wavetap::sys::unmap(mapped, bytes);
  }
  g_code->push_back(std::move(code));
}

void on_frozen(uint64_t executable) {
  const Locked locked(g_code_lock);
  for (uint32_t i = 0; gpu_agent(i) != 0; ++i) {
    Frozen frozen{executable, gpu_agent(i)};
    hsa().hsa_executable_iterate_agent_symbols(executable, frozen.agent,
                                               reinterpret_cast<void*>(&note_symbol), &frozen);
    visit_code_objects(executable, &note_code, &frozen);
  }
}

void on_destroyed(uint64_t executable) {
  const Locked locked(g_code_lock);
  std::erase_if(*g_code, [&](const CodeInMemory& code) { return code.executable == executable; });
  g_kernels.remove_if(
      [&](const CapturableKernel& kernel) { return kernel.executable == executable; });
}

}  // namespace

void watch_code(bool (*chosen)(const std::string&, const std::string&)) {
  g_chosen = chosen;
  g_code = new (std::nothrow) std::vector<CodeInMemory>;
  if (g_code != nullptr) listen_to_executables(&on_frozen, &on_destroyed);
}

const CapturableKernel* find_capturable(uint64_t kernel_object) {
  return g_kernels.find(kernel_object);
}

void for_each_code(uint64_t agent, const std::function<void(const CodeInMemory&)>& visit) {
  const Locked locked(g_code_lock);
  if (g_code == nullptr) return;
  for (const CodeInMemory& code : *g_code)
    if (code.agent == agent) visit(code);
}

void forget_code() {
  const Locked locked(g_code_lock);
  if (g_code != nullptr) g_code->clear();
  g_kernels.clear();
}

void unlock_code_after_fork() { new (&g_code_lock) LockWord; }

}  // namespace wavetap::agent
