// Kernels of the program, and the twins that the compiler pass has put beside them; see probe_policy.h.
#pragma once

#include <regex.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/probe_files.h"
#include "agent/probe_ring.h"
#include "agent/probe_twins.h"
#include "agent/recording.h"
#include "agent/swap_map.h"

namespace wavetap::agent {

// A kernel of the program. Never freed: a thread may hold one.
struct Probed {
  std::string name;
  uint64_t executable = 0;
  uint64_t twin = 0;  // kernel object; 0: none
  TwinPlan plan;
  uint32_t sites = 0;  // with kProbeTable
  ProbeDevice* device = nullptr;
  uint32_t gpu = 0;
  std::string code;         // file
  std::string target;       // "gfx1030"
  bool is_refused = false;  // it has a twin that cannot run
  std::atomic<bool> was_plain{false};
  std::atomic<bool>* launched = nullptr;  // shared by all kernels of this name
};

class ProbeKernels {
 public:
  // `device_of`: the ring of a GPU, made when first asked for; null: there is none.
  using DeviceOf = ProbeDevice* (*)(uint64_t agent);
  ProbeKernels(const ProbeRequest& request, ProbeFiles& files, DeviceOf device_of);

  // Null: not one that is to be probed. Any thread.
  Probed* find(uint64_t kernel_object) { return map_.find(kernel_object); }
  void add(uint64_t executable);
  void remove(uint64_t executable);
  void clear();
  void unlock_after_fork() { new (&lock_) LockWord; }

 private:
  struct Frozen;

  bool matches(const std::string& name) const;
  void look_at(const Frozen& frozen, const codeobj::CodeObject* object,
               std::span<const std::byte> image);
  void find_twin(const Frozen& frozen, const codeobj::CodeObject& object, Probed& probed);
  void refuse(Probed& probed, const std::string& why);

  const ProbeRequest& request_;
  ProbeFiles& files_;
  const DeviceOf device_of_;
  regex_t pattern_{};
  bool has_pattern_ = false;
  LockWord lock_;
  std::vector<Probed*> kernels_;
  SwapMap<Probed> map_;
  std::map<std::string, std::atomic<bool>>
      launched_;  // by name, whatever module it was loaded from
};

}  // namespace wavetap::agent
