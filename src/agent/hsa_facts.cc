#include "agent/hsa_facts.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "agent/device_figures.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"

namespace wavetap::agent {
namespace {

// Code objects that exist only in memory are saved, up to this much of one and of all.
constexpr uint64_t kMaxSavedBytes = 256ull << 20;
constexpr uint64_t kMaxSavedTotal = 2048ull << 20;

constexpr uint32_t kMaxAgents = 256;
constexpr uint32_t kMaxPools = 1024;

struct Agent {
  uint64_t handle;
  format::AgentFact fact;
  char name[64];
  char product[64];
  char uuid[24];
  uint64_t lds_bytes;
  uint64_t l2_bytes;
};

// Grows; never shrinks. Plain memory, so that nothing is constructed or destroyed behind the
// program's back.
template <class T>
class List {
 public:
  T* add(const T& item) {
    if (count_ == capacity_) {
      const size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
      void* grown = std::realloc(static_cast<void*>(items_), capacity * sizeof(T));
      if (grown == nullptr) return nullptr;
      items_ = static_cast<T*>(grown);
      capacity_ = capacity;
    }
    items_[count_] = item;
    return &items_[count_++];
  }
  T* begin() { return items_; }
  T* end() { return items_ + count_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return items_[i]; }
  void clear() { count_ = 0; }
  void remove(size_t i) { items_[i] = items_[--count_]; }

 private:
  T* items_ = nullptr;
  size_t count_ = 0;
  size_t capacity_ = 0;
};

struct CodeObject {
  uint64_t executable;
  format::CodeObjectFact fact;
  char* uri;
  char file[64];
};

struct Kernel {
  uint64_t executable;
  format::KernelFact fact;
  char* name;
};

struct NamedMemory {
  const void* memory;
  char* uri;
};

struct KernargSize {
  uint64_t kernel_object;
  uint32_t bytes;
};
constexpr size_t kKernargSizes = 1024;

struct Facts {
  LockWord lock;
  Agent agents[kMaxAgents];
  uint32_t agent_count;
  PoolFact pools[kMaxPools];
  uint32_t pool_count;
  uint64_t shared_pool;
  HsaLoaderTable loader;
  List<CodeObject> code_objects;
  List<Kernel> kernels;
  List<NamedMemory> named_memory;
  uint64_t saved_bytes;
  KernargSize kernarg_sizes[kKernargSizes];  // recently asked for, by address
};
constinit Facts g_facts{};

using ExecutableListener = void (*)(uint64_t executable);
constexpr size_t kMaxListeners = 4;
constinit std::atomic<ExecutableListener> g_on_frozen[kMaxListeners];
constinit std::atomic<ExecutableListener> g_on_destroyed[kMaxListeners];

void tell(const std::atomic<ExecutableListener> (&listeners)[kMaxListeners], uint64_t executable) {
  for (const auto& slot : listeners)
    if (const ExecutableListener listener = slot.load(std::memory_order_acquire))
      listener(executable);
}

// Agents and pools may be read without the lock: they do not change while the runtime is loaded.
const Facts& loaded_facts() {
  g_hsa_table.see_published();
  return g_facts;
}

// ---- agents and pools --------------------------------------------------------------------------

template <class T>
T agent_info(uint64_t agent, uint32_t attribute) {
  T value{};
  hsa().hsa_agent_get_info(agent, attribute, &value);
  return value;
}

HsaStatus add_pool(uint64_t pool, void* data) {
  auto* agent = static_cast<Agent*>(data);
  uint32_t segment = 0;
  uint32_t flags = 0;
  size_t size = 0;
  bool may_allocate = false;
  hsa().hsa_amd_memory_pool_get_info(pool, amd::kPoolSegment, &segment);
  if (segment == amd::kSegmentGroup)
    hsa().hsa_amd_memory_pool_get_info(pool, amd::kPoolSize, &agent->lds_bytes);
  if (segment != amd::kSegmentGlobal || g_facts.pool_count == kMaxPools) return kHsaSuccess;
  hsa().hsa_amd_memory_pool_get_info(pool, amd::kPoolFlags, &flags);
  hsa().hsa_amd_memory_pool_get_info(pool, amd::kPoolSize, &size);
  hsa().hsa_amd_memory_pool_get_info(pool, amd::kPoolMayAllocate, &may_allocate);
  if (size > agent->fact.memory_bytes) agent->fact.memory_bytes = size;

  const bool fine = (flags & (amd::kPoolFineGrained | amd::kPoolKernarg)) != 0;
  format::MemoryKind kind = fine ? format::MemoryKind::kFineGrained : format::MemoryKind::kDevice;
  if (agent->fact.is_gpu == 0) {
    kind =
        (flags & amd::kPoolKernarg) != 0 ? format::MemoryKind::kKernarg : format::MemoryKind::kHost;
    if (fine && may_allocate && g_facts.shared_pool == 0) g_facts.shared_pool = pool;
  }
  g_facts.pools[g_facts.pool_count++] = {pool, agent->fact.number, kind, may_allocate};
  return kHsaSuccess;
}

HsaStatus add_agent(uint64_t handle, void*) {
  if (g_facts.agent_count == kMaxAgents) return kHsaSuccess;
  Agent& agent = g_facts.agents[g_facts.agent_count];
  agent = {};
  agent.handle = handle;
  format::AgentFact& fact = agent.fact;
  fact.number = g_facts.agent_count++;
  fact.is_gpu = agent_info<uint32_t>(handle, amd::kAgentDevice) == amd::kDeviceGpu;
  fact.gpu_index = UINT32_MAX;
  if (fact.is_gpu != 0) {
    fact.gpu_index = 0;
    for (uint32_t i = 0; i + 1 < g_facts.agent_count; ++i)
      fact.gpu_index += g_facts.agents[i].fact.is_gpu;
    fact.wavefront = agent_info<uint32_t>(handle, amd::kAgentWavefrontSize);
    fact.bdf = agent_info<uint32_t>(handle, amd::kAgentDomain) << 16 |
               agent_info<uint32_t>(handle, amd::kAgentBdf);
    hsa().hsa_agent_get_info(handle, amd::kAgentUuid, agent.uuid);
    agent.uuid[sizeof agent.uuid - 1] = '\0';
    uint32_t caches[4] = {};
    hsa().hsa_agent_get_info(handle, amd::kAgentCacheSize, caches);
    agent.l2_bytes = caches[1];
  }
  fact.driver_node = agent_info<uint32_t>(handle, amd::kAgentDriverNode);
  fact.compute_units = agent_info<uint32_t>(handle, amd::kAgentComputeUnits);
  fact.clock_mhz = agent_info<uint32_t>(handle, amd::kAgentMaxClockMhz);
  hsa().hsa_agent_get_info(handle, amd::kAgentName, agent.name);
  hsa().hsa_agent_get_info(handle, amd::kAgentProductName, agent.product);
  agent.name[sizeof agent.name - 1] = agent.product[sizeof agent.product - 1] = '\0';
  hsa().hsa_amd_agent_iterate_memory_pools(handle, reinterpret_cast<void*>(&add_pool), &agent);
  return kHsaSuccess;
}

// ---- code objects and kernels ------------------------------------------------------------------

void write_code_object(const CodeObject& object, uint8_t flags) {
  fact(object.fact, format::Kind::kCodeObject, flags,
       {object.uri == nullptr ? "" : object.uri, object.file});
}

void write_kernel(const Kernel& kernel) {
  fact(kernel.fact, format::Kind::kKernel, 0, {kernel.name});
}

template <class T>
T code_object_info(uint64_t object, uint32_t attribute) {
  T value{};
  g_facts.loader.code_object_info(object, attribute, &value);
  return value;
}

// Puts the object into the session folder; `file` becomes its name there, or "".
void save(CodeObject& object, const void* bytes, uint64_t size) {
  object.file[0] = '\0';
  if (bytes == nullptr || size > kMaxSavedBytes || g_facts.saved_bytes + size > kMaxSavedTotal)
    return;
  char path[4096];
  const std::string_view name = session_file(object.fact.number, path, sizeof path);
  if (name.empty() || name.size() >= sizeof object.file) return;
  const int fd = sys::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return count_loss(format::Loss::kFolder);
  uint64_t done = 0;
  while (done < size) {
    const int64_t count = sys::write(fd, static_cast<const char*>(bytes) + done, size - done);
    if (count == -EINTR) continue;
    if (count <= 0) break;
    done += static_cast<uint64_t>(count);
  }
  sys::close(fd);
  if (done < size) {
    sys::unlink(path);
    return count_loss(format::Loss::kDiskFull);
  }
  g_facts.saved_bytes += size;
  std::memcpy(object.file, name.data(), name.size());
  object.file[name.size()] = '\0';
}

// Where the code object in this memory comes from; null: nobody has said.
char* name_of_memory(uint64_t loaded) {
  if (code_object_info<uint32_t>(loaded, kLoadedStorage) != kStorageMemory) return nullptr;
  const auto base = code_object_info<uint64_t>(loaded, kLoadedMemoryBase);
  for (const NamedMemory& one : g_facts.named_memory)
    if (reinterpret_cast<uint64_t>(one.memory) == base) return one.uri;
  return nullptr;
}

// `file_uri`: where it came from, when that is known better than the loader knows it.
HsaStatus add_code_object(uint64_t executable, uint64_t loaded, void* file_uri) {
  if (file_uri == nullptr) file_uri = name_of_memory(loaded);
  CodeObject object{};
  object.executable = executable;
  object.fact.time = ticks();
  object.fact.number = next_code_object();
  object.fact.agent = agent_number(code_object_info<uint64_t>(loaded, kLoadedAgent));
  object.fact.load_base = code_object_info<uint64_t>(loaded, kLoadedBase);
  object.fact.load_bytes = code_object_info<uint64_t>(loaded, kLoadedSize);
  object.fact.load_delta = code_object_info<uint64_t>(loaded, kLoadedDelta);
  const uint32_t length = file_uri != nullptr
                              ? static_cast<uint32_t>(std::strlen(static_cast<char*>(file_uri)))
                              : code_object_info<uint32_t>(loaded, kLoadedUriLength);
  object.uri = static_cast<char*>(std::calloc(length + 1, 1));
  if (object.uri != nullptr && file_uri != nullptr) std::memcpy(object.uri, file_uri, length);
  else if (object.uri != nullptr && length != 0)
    g_facts.loader.code_object_info(loaded, kLoadedUri, object.uri);

  if (code_object_info<uint32_t>(loaded, kLoadedStorage) == kStorageMemory) {
    const auto base = code_object_info<uint64_t>(loaded, kLoadedMemoryBase);
    object.fact.bytes = code_object_info<uint64_t>(loaded, kLoadedMemorySize);
    // A file that we loaded may change while the program runs.
    const bool has_file =
        file_uri == nullptr && object.uri != nullptr && std::strncmp(object.uri, "file://", 7) == 0;
    if (!has_file) save(object, reinterpret_cast<const void*>(base), object.fact.bytes);
  }
  write_code_object(object, 1);
  if (g_facts.code_objects.add(object) == nullptr) std::free(object.uri);
  return kHsaSuccess;
}

HsaStatus add_kernel(uint64_t executable, uint64_t, uint64_t symbol, void*) {
  uint32_t type = 0;
  const auto get = hsa().hsa_executable_symbol_get_info;
  if (get(symbol, kSymbolType, &type) != kHsaSuccess || type != kSymbolKindKernel)
    return kHsaSuccess;
  Kernel kernel{};
  kernel.executable = executable;
  kernel.fact.time = ticks();
  get(symbol, kSymbolKernelObject, &kernel.fact.kernel_object);
  get(symbol, kSymbolKernargBytes, &kernel.fact.kernarg_bytes);
  get(symbol, kSymbolGroupBytes, &kernel.fact.group_bytes);
  get(symbol, kSymbolPrivateBytes, &kernel.fact.private_bytes);
  for (const CodeObject& object : g_facts.code_objects) {
    if (object.executable == executable &&
        kernel.fact.kernel_object - object.fact.load_base < object.fact.load_bytes) {
      kernel.fact.code_object = object.fact.number;
    }
  }
  uint32_t length = 0;
  get(symbol, kSymbolNameLength, &length);
  kernel.name = static_cast<char*>(std::calloc(length + 1, 1));
  if (kernel.name == nullptr) {
    count_loss(format::Loss::kNoMemory);
    return kHsaSuccess;
  }
  get(symbol, kSymbolName, kernel.name);
  if (length > 3 && std::strcmp(kernel.name + length - 3, ".kd") == 0)
    kernel.name[length - 3] = '\0';
  write_kernel(kernel);
  if (g_facts.kernels.add(kernel) == nullptr) std::free(kernel.name);
  return kHsaSuccess;
}

void add_executable(uint64_t executable, char* file_uri) {
  Locked locked(g_facts.lock);
  if (g_facts.loader.iterate_code_objects != nullptr) {
    g_facts.loader.iterate_code_objects(executable, &add_code_object, file_uri);
  }
  for (uint32_t i = 0; i < g_facts.agent_count; ++i) {
    hsa().hsa_executable_iterate_agent_symbols(executable, g_facts.agents[i].handle,
                                               reinterpret_cast<void*>(&add_kernel), nullptr);
  }
}

HsaStatus on_executable_freeze(uint64_t executable, const char* options) {
  const HsaStatus status = hsa().hsa_executable_freeze(executable, options);
  if (status != kHsaSuccess) return status;
  add_executable(executable, nullptr);
  tell(g_on_frozen, executable);
  return status;
}

HsaStatus on_executable_destroy(uint64_t executable) {
  tell(g_on_destroyed, executable);
  {
    Locked locked(g_facts.lock);
    for (size_t i = g_facts.code_objects.size(); i-- > 0;) {
      CodeObject& object = g_facts.code_objects[i];
      if (object.executable != executable) continue;
      object.fact.time = ticks();
      write_code_object(object, 2);
      std::free(object.uri);
      g_facts.code_objects.remove(i);
    }
    for (size_t i = g_facts.kernels.size(); i-- > 0;) {
      if (g_facts.kernels[i].executable != executable) continue;
      g_facts.kernarg_sizes[g_facts.kernels[i].fact.kernel_object / 64 % kKernargSizes] = {};
      std::free(g_facts.kernels[i].name);
      g_facts.kernels.remove(i);
    }
  }
  return hsa().hsa_executable_destroy(executable);
}

constexpr size_t kMaxUri = 4096 + 64;

bool write_uri(char (&uri)[kMaxUri], const char* path, uint64_t offset, uint64_t bytes) {
  const int length = std::snprintf(uri, sizeof uri, "file://%s#offset=%llu&size=%llu", path,
                                   static_cast<unsigned long long>(offset),
                                   static_cast<unsigned long long>(bytes));
  return length > 0 && static_cast<size_t>(length) < sizeof uri;
}

// Agents, what HSA says of the GPUs besides, and what the driver and the environment say.
void write_agents() {
  for (uint32_t i = 0; i < g_facts.agent_count; ++i) {
    const Agent& agent = g_facts.agents[i];
    fact(agent.fact, format::Kind::kAgent, 0, {agent.name, agent.product, agent.uuid});
    if (agent.fact.is_gpu != 0) write_hsa_figures(agent.fact, agent.lds_bytes, agent.l2_bytes);
  }
  write_driver_figures();
}

// Everything known so far, for a session that opens later.
void write_known_facts() {
  Locked locked(g_facts.lock);
  write_agents();
  for (const CodeObject& object : g_facts.code_objects) write_code_object(object, 1);
  for (const Kernel& kernel : g_facts.kernels) write_kernel(kernel);
}

}  // namespace

void open_agents() {
  Locked locked(g_facts.lock);
  g_facts.agent_count = 0;
  g_facts.pool_count = 0;
  g_facts.shared_pool = 0;
  g_facts.code_objects.clear();
  g_facts.kernels.clear();
  hsa().hsa_iterate_agents(reinterpret_cast<void*>(&add_agent), nullptr);
  g_facts.loader = {};
  hsa().hsa_system_get_major_extension_table(kLoaderExtension, 1, sizeof g_facts.loader,
                                             &g_facts.loader);
  write_agents();
}

void unlock_facts_after_fork() { new (&g_facts.lock) LockWord; }

void replay_facts_for_new_sessions() { add_fact_source(&write_known_facts); }

uint32_t agent_number(uint64_t agent) {
  const Facts& facts = loaded_facts();
  for (uint32_t i = 0; i < facts.agent_count; ++i) {
    if (facts.agents[i].handle == agent) return i;
  }
  return kNoAgent;
}

bool is_gpu(uint64_t agent) {
  const uint32_t number = agent_number(agent);
  return number != kNoAgent && loaded_facts().agents[number].fact.is_gpu != 0;
}

uint64_t gpu_agent(uint32_t index) {
  const Facts& facts = loaded_facts();
  for (uint32_t i = 0; i < facts.agent_count; ++i) {
    const Agent& agent = facts.agents[i];
    if (agent.fact.is_gpu != 0 && agent.fact.gpu_index == index) return agent.handle;
  }
  return 0;
}

uint32_t lds_bytes_of(uint64_t agent) {
  const uint32_t number = agent_number(agent);
  return number == kNoAgent ? 0 : static_cast<uint32_t>(loaded_facts().agents[number].lds_bytes);
}

uint32_t host_agent() {
  const Facts& facts = loaded_facts();
  for (uint32_t i = 0; i < facts.agent_count; ++i) {
    if (facts.agents[i].fact.is_gpu == 0) return i;
  }
  return kNoAgent;
}

uint64_t host_agent_handle() {
  const uint32_t number = host_agent();
  return number == kNoAgent ? 0 : loaded_facts().agents[number].handle;
}

uint64_t device_pool(uint64_t agent) {
  const Facts& facts = loaded_facts();
  const uint32_t number = agent_number(agent);
  for (uint32_t i = 0; i < facts.pool_count; ++i) {
    const PoolFact& pool = facts.pools[i];
    if (pool.agent == number && pool.can_allocate && pool.kind == format::MemoryKind::kDevice)
      return pool.pool;
  }
  return 0;
}

uint32_t agent_of_address(const void* address) {
  HsaPointerInfo info{};
  info.size = sizeof info;
  if (hsa().hsa_amd_pointer_info(address, &info, nullptr, nullptr, nullptr) != kHsaSuccess)
    return host_agent();
  const uint32_t number = agent_number(info.owner);
  return info.type == 0 || number == kNoAgent ? host_agent() : number;
}

const PoolFact* find_pool(uint64_t pool) {
  const Facts& facts = loaded_facts();
  for (uint32_t i = 0; i < facts.pool_count; ++i) {
    if (facts.pools[i].pool == pool) return &facts.pools[i];
  }
  return nullptr;
}

uint64_t shared_pool() { return loaded_facts().shared_pool; }

void kernel_name(uint64_t kernel_object, char* name, size_t size) {
  Locked locked(g_facts.lock);
  const char* found = "?";
  for (const Kernel& kernel : g_facts.kernels) {
    if (kernel.fact.kernel_object == kernel_object) found = kernel.name;
  }
  const size_t length = std::min(std::strlen(found), size - 1);
  std::memcpy(name, found, length);
  name[length] = '\0';
}

uint32_t kernarg_bytes(uint64_t kernel_object) {
  Locked locked(g_facts.lock);
  KernargSize& recent = g_facts.kernarg_sizes[kernel_object / 64 % kKernargSizes];
  if (recent.kernel_object == kernel_object) return recent.bytes;
  for (const Kernel& kernel : g_facts.kernels) {
    if (kernel.fact.kernel_object != kernel_object) continue;
    recent = {kernel_object, kernel.fact.kernarg_bytes};
    return recent.bytes;
  }
  return 0;
}

void listen_to_executables(void (*frozen)(uint64_t), void (*destroyed)(uint64_t)) {
  for (size_t i = 0; i < kMaxListeners; ++i) {
    const ExecutableListener known = g_on_frozen[i].load(std::memory_order_acquire);
    if (known != nullptr && known != frozen) continue;
    g_on_destroyed[i].store(destroyed, std::memory_order_release);
    g_on_frozen[i].store(frozen, std::memory_order_release);
    return;
  }
}

void note_executable(uint64_t executable, const char* path, uint64_t offset, uint64_t bytes) {
  char uri[kMaxUri];
  if (write_uri(uri, path, offset, bytes)) add_executable(executable, uri);
}

void name_memory(const void* memory, const char* path, uint64_t offset, uint64_t bytes) {
  char uri[kMaxUri];
  if (!write_uri(uri, path, offset, bytes)) return;
  Locked locked(g_facts.lock);
  for (const NamedMemory& one : g_facts.named_memory)
    if (one.memory == memory) return;
  NamedMemory named{memory, ::strdup(uri)};
  if (named.uri != nullptr && g_facts.named_memory.add(named) == nullptr) std::free(named.uri);
}

void visit_code_objects(uint64_t executable, void (*visit)(const LoadedCodeObject&, void*),
                        void* data) {
  struct Visitor {
    void (*visit)(const LoadedCodeObject&, void*);
    void* data;
  } visitor{visit, data};
  if (g_facts.loader.iterate_code_objects == nullptr) return;
  g_facts.loader.iterate_code_objects(
      executable,
      [](uint64_t, uint64_t loaded, void* to) {
        LoadedCodeObject object;
        object.agent = code_object_info<uint64_t>(loaded, kLoadedAgent);
        object.load_base = code_object_info<uint64_t>(loaded, kLoadedBase);
        object.load_bytes = code_object_info<uint64_t>(loaded, kLoadedSize);
        object.load_delta = code_object_info<uint64_t>(loaded, kLoadedDelta);
        char uri[4096 + 128] = {};
        if (code_object_info<uint32_t>(loaded, kLoadedUriLength) < sizeof uri)
          g_facts.loader.code_object_info(loaded, kLoadedUri, uri);
        object.uri = uri;
        if (code_object_info<uint32_t>(loaded, kLoadedStorage) == kStorageMemory) {
          object.memory =
              reinterpret_cast<const void*>(code_object_info<uint64_t>(loaded, kLoadedMemoryBase));
          object.bytes = code_object_info<uint64_t>(loaded, kLoadedMemorySize);
        } else {
          object.file = code_object_info<int32_t>(loaded, kLoadedFile);
        }
        const auto& asked = *static_cast<const Visitor*>(to);
        asked.visit(object, asked.data);
        return HsaStatus{kHsaSuccess};
      },
      &visitor);
}

void install_executable_hooks() {
  g_hsa_table.install(&Hsa::hsa_executable_freeze, &on_executable_freeze);
  g_hsa_table.install(&Hsa::hsa_executable_destroy, &on_executable_destroy);
}

}  // namespace wavetap::agent
