// What a dispatch did to memory, and the kinds of its arithmetic: results of MemoryWatch.
#pragma once

#include <cstdint>
#include <vector>

#include "amd/gfx_target.h"
#include "base/gpu_addr.h"

namespace wavetap::cachesim {

struct MemoryCounters {
#define WT_MEMORY_COUNTER(name, help) uint64_t name = 0;
#include "cachesim/memory_counters.inc"
#undef WT_MEMORY_COUNTER

  void add(const MemoryCounters& other) {
#define WT_MEMORY_COUNTER(name, help) name += other.name;
#include "cachesim/memory_counters.inc"
#undef WT_MEMORY_COUNTER
  }
};

struct InstructionCounters {
#define WT_INSTRUCTION_COUNTER(name, help) uint64_t name = 0;
#include "cachesim/instruction_counters.inc"
#undef WT_INSTRUCTION_COUNTER
};

// One static instruction, or a run of them without jumps: how often, and what its accesses cost.
struct SiteCounts {
  GpuAddr pc;
  uint32_t instructions = 1;  // from here to the next jump or place that is jumped to
  uint64_t executed = 0;      // by waves
  uint64_t accessed = 0;      // executions that accessed memory
  uint64_t lanes = 0;         // that accessed memory
  uint64_t bytes = 0;
  uint64_t lines = 0;        // 64-byte lines of global memory
  uint64_t lines_ideal = 0;  // that the same bytes would need side by side
  uint64_t l1_misses = 0;    // lines
  uint64_t l2_misses = 0;    // requests
  uint64_t lds_cycles = 0;
  uint64_t lds_conflict_cycles = 0;
};

struct MemoryResult {
  MemoryCounters memory;
  InstructionCounters instructions;
  std::vector<SiteCounts> accesses;  // instructions that access memory, by address
  std::vector<SiteCounts> blocks;    // straight runs of instructions, by address
  uint64_t block_instructions = 0;   // sum over blocks: all, unless code was entered sideways
};

// Calls f(name, value, help) for AMD's counters of `target` that the model fills.
template <class F>
void for_each_amd_memory_counter(amd::GfxTarget target, const MemoryCounters& c, F&& f) {
  const auto put = [&](const char* name, uint64_t value, const char* help) {
    f(name, value, help);
  };
  const uint64_t l2_requests = c.l2_reads + c.l2_writes + c.l2_atomics;
  put("SQC_DCACHE_REQ", c.scalar_reads, "scalar cache requests");
  put("SQC_DCACHE_HITS", c.scalar_reads - c.scalar_read_misses, "scalar cache hits");
  put("SQC_DCACHE_MISSES", c.scalar_read_misses, "scalar cache misses");
  put("SQC_ICACHE_REQ", c.instruction_reads, "instruction cache requests");
  put("SQC_ICACHE_HITS", c.instruction_reads - c.instruction_read_misses, "hits");
  put("SQC_ICACHE_MISSES", c.instruction_read_misses, "misses");
  if (target.major >= 10) {
    put("SQC_LDS_IDX_ACTIVE", c.lds_cycles, "cycles of LDS");
    put("SQC_LDS_BANK_CONFLICT", c.lds_conflict_cycles, "of them for bank conflicts");
    put("TCP_REQ", c.l1_reads + c.l1_writes, "L0 requests");
    put("TCP_REQ_MISS", c.l1_read_misses + c.l1_writes, "L0 requests passed on");
    put("GL1C_REQ", c.gl1_reads, "GL1 read requests");
    put("GL1C_REQ_MISS", c.gl1_read_misses, "GL1 read misses");
    put("GL2C_REQ", l2_requests, "L2 requests");
    put("GL2C_HIT", c.l2_hits, "L2 hits");
    put("GL2C_MISS", c.l2_misses, "L2 misses");
    put("GL2C_EA_RDREQ_32B", c.fabric_reads_32b, "reads from memory of 32 bytes");
    put("GL2C_EA_RDREQ_64B", c.fabric_reads - c.fabric_reads_32b - c.fabric_reads_128b,
        "reads from memory of 64 bytes");
    put("GL2C_EA_RDREQ_128B", c.fabric_reads_128b, "reads from memory of 128 bytes");
    put("GL2C_MC_WRREQ", c.fabric_writes, "writes to memory");
    put("GL2C_EA_WRREQ_64B", c.fabric_writes_64b, "writes to memory of 64 bytes");
    return;
  }
  put("SQ_LDS_IDX_ACTIVE", c.lds_cycles, "cycles of LDS");
  put("SQ_LDS_BANK_CONFLICT", c.lds_conflict_cycles, "of them for bank conflicts");
  put("SQ_LDS_ADDR_CONFLICT", c.lds_address_conflict_cycles, "of them for atomics on one dword");
  put("TCP_TOTAL_ACCESSES", c.l1_accesses, "vector L1 accesses");
  put("TCP_TOTAL_CACHE_ACCESSES", c.l1_tag_accesses, "vector L1 tag look-ups");
  put("TCP_TCC_READ_REQ", c.l1_to_l2_reads, "vector L1 reads from L2");
  put("TCP_TCC_WRITE_REQ", c.l1_to_l2_writes, "vector L1 writes to L2");
  put("TCP_TCC_ATOMIC_REQ", c.l1_to_l2_atomics, "vector L1 atomics to L2");
  put("TCC_REQ", l2_requests, "L2 requests");
  put("TCC_READ", c.l2_reads, "L2 reads");
  put("TCC_WRITE", c.l2_writes, "L2 writes");
  put("TCC_ATOMIC", c.l2_atomics, "L2 atomics");
  put("TCC_HIT", c.l2_hits, "L2 hits");
  put("TCC_MISS", c.l2_misses, "L2 misses");
  if (target.minor == 4) {
    put("TCC_EA0_RDREQ", c.fabric_reads, "reads from memory");
    put("TCC_EA0_RDREQ_32B", c.fabric_reads_32b, "those of 32 bytes");
    put("TCC_BUBBLE", c.fabric_reads_128b, "those of 128 bytes");
    put("TCC_EA0_WRREQ", c.fabric_writes, "writes to memory");
    put("TCC_EA0_WRREQ_64B", c.fabric_writes_64b, "those of 64 bytes");
  } else {
    put("TCC_EA_RDREQ", c.fabric_reads, "reads from memory");
    put("TCC_EA_RDREQ_32B", c.fabric_reads_32b, "those of 32 bytes");
    put("TCC_EA_WRREQ", c.fabric_writes, "writes to memory");
    put("TCC_EA_WRREQ_64B", c.fabric_writes_64b, "those of 64 bytes");
  }
}

template <class F>
void for_each_memory_counter(const MemoryCounters& c, F&& f) {
#define WT_MEMORY_COUNTER(name, help) f(#name, c.name, help);
#include "cachesim/memory_counters.inc"
#undef WT_MEMORY_COUNTER
}

template <class F>
void for_each_instruction_counter(const InstructionCounters& c, F&& f) {
#define WT_INSTRUCTION_COUNTER(name, help) f(#name, c.name, help);
#include "cachesim/instruction_counters.inc"
#undef WT_INSTRUCTION_COUNTER
}

}  // namespace wavetap::cachesim
