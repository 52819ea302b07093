// Programs register their kernels when they are loaded, long before recording may be started; so
// every name is kept, in blocks that are never freed: 16 bytes and the name.
#include "agent/host_functions.h"

#include <string.h>

#include <atomic>
#include <cstdint>

#include "agent/recording.h"

namespace wavetap::agent {
namespace {

struct Entry {
  const void* function;
  uint32_t bytes;  // of the name that follows
  uint32_t size;   // of the entry
};

struct Block {
  Block* next;
  size_t used;
};
constexpr size_t kBlockBytes = 256 << 10;
constexpr size_t kMaxName = 16 << 10;

Block* g_blocks = nullptr;  // newest first; under host_lock

void write_entry(const void* function, const char* name, size_t bytes) {
  format::HostFunctionFact host{};
  host.time = ticks();
  host.function = reinterpret_cast<uintptr_t>(function);
  fact(host, format::Kind::kHostFunction, 0, {std::string_view(name, bytes)});
}

// Not under the lock: fact() may have to make a chunk. Entries are never changed, so walking them
// needs none.
void write_all() {
  Block* block;
  {
    const Locked lock(g_fork_wiped.host_lock);
    block = g_blocks;
  }
  for (; block != nullptr; block = block->next) {
    const char* const begin = reinterpret_cast<const char*>(block);
    const size_t used = __atomic_load_n(&block->used, __ATOMIC_ACQUIRE);
    for (size_t at = sizeof(Block); at < used;) {
      Entry entry;
      memcpy(&entry, begin + at, sizeof entry);
      write_entry(entry.function, begin + at + sizeof entry, entry.bytes);
      at += entry.size;
    }
  }
}

void keep(const void* function, const char* name, size_t bytes) {
  const Locked lock(g_fork_wiped.host_lock);
  const size_t size = (sizeof(Entry) + bytes + 7) & ~size_t{7};
  if (g_blocks == nullptr || kBlockBytes - g_blocks->used < size) {
    char* const fresh =
        sys::map(kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (fresh == nullptr) return;
    auto* const block = reinterpret_cast<Block*>(fresh);
    block->next = g_blocks;
    block->used = sizeof(Block);
    g_blocks = block;
  }
  char* const at = reinterpret_cast<char*>(g_blocks) + g_blocks->used;
  const Entry entry{function, static_cast<uint32_t>(bytes), static_cast<uint32_t>(size)};
  memcpy(at, &entry, sizeof entry);
  memcpy(at + sizeof entry, name, bytes);
  __atomic_store_n(&g_blocks->used, g_blocks->used + size, __ATOMIC_RELEASE);
}

}  // namespace

void note_host_function(const void* function, const char* device_name) {
  if (function == nullptr || device_name == nullptr) return;
  ensure_started();
  const Inside inside;
  const size_t bytes = strnlen(device_name, kMaxName);
  add_fact_source(write_all);
  keep(function, device_name, bytes);
  write_entry(function, device_name, bytes);
}

}  // namespace wavetap::agent
