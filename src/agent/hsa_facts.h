// Facts about what the GPU side consists of: agents, memory pools, code objects, kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/hsa_abi.h"
#include "format/record.h"

namespace wavetap::agent {

inline constexpr uint32_t kNoAgent = UINT32_MAX;

// Lists agents and pools, writing AgentFacts. Called by OnLoad.
void open_agents();
// From now on, also tells a session that opens later (a child of fork, recording started by hand)
// what is known.
void replay_facts_for_new_sessions();
void unlock_facts_after_fork();

uint32_t agent_number(uint64_t agent);  // kNoAgent: unknown
bool is_gpu(uint64_t agent);
uint64_t gpu_agent(uint32_t index);  // HSA's handle; 0: there are not so many
// LDS that a workgroup can have; 0: unknown.
uint32_t lds_bytes_of(uint64_t agent);
uint32_t host_agent();         // the first CPU
uint64_t host_agent_handle();  // HSA's; 0: there is none
// Whose memory it is; the host's when the runtime does not know it.
uint32_t agent_of_address(const void* address);

struct PoolFact {
  uint64_t pool;
  uint32_t agent;
  format::MemoryKind kind;
  bool can_allocate;
};
const PoolFact* find_pool(uint64_t pool);
// Host memory that CPUs and GPUs see at once; 0: none.
uint64_t shared_pool();
// Memory of a GPU's own; 0: none.
uint64_t device_pool(uint64_t agent);

// The kernel's name, mangled; "?" when unknown.
void kernel_name(uint64_t kernel_object, char* name, size_t size);
// The kernarg segment of the kernel behind a kernel object, in bytes; 0: unknown.
uint32_t kernarg_bytes(uint64_t kernel_object);

// Is told of each executable of the program once its kernels are known, and before it goes. A few
// listeners; before the GPU runtime is loaded.
void listen_to_executables(void (*frozen)(uint64_t executable),
                           void (*destroyed)(uint64_t executable));
// Writes facts about an executable of ours, made from a part of a file.
void note_executable(uint64_t executable, const char* path, uint64_t offset, uint64_t bytes);

// A code object at this address comes from a part of a file: facts about whoever loads it say so. The
// memory is never given back.
void name_memory(const void* memory, const char* path, uint64_t offset, uint64_t bytes);

struct LoadedCodeObject {
  uint64_t agent = 0;
  uint64_t load_base = 0;
  uint64_t load_bytes = 0;
  uint64_t load_delta = 0;       // loaded address - linked address
  const char* uri = "";          // the runtime's name of it
  const void* memory = nullptr;  // the ELF file where the program has it; null: in `file`
  uint64_t bytes = 0;            // of it; 0 with a file
  int file = -1;
};
void visit_code_objects(uint64_t executable, void (*visit)(const LoadedCodeObject&, void*),
                        void* data);

}  // namespace wavetap::agent
