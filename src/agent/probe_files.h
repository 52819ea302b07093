// What the agent leaves for `wavetap probe`: format/probe_ring.h says what is in the files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/dispatch_policy.h"
#include "agent/probe_twins.h"
#include "agent/recording.h"
#include "format/launch_choice.h"
#include "format/probe_ring.h"

namespace wavetap::agent {

// What the user asked for.
struct ProbeRequest {
  std::string folder;
  uint32_t wants = 0;
  std::string kernels;
  format::LaunchChoice launches;
  uint64_t every = 1;
  uint64_t most = 0;  // launches; 0: all
  uint64_t ring_bytes = uint64_t{64} << 20;
  uint64_t record_bytes = uint64_t{4} << 30;  // at most, of a process
};
// False: it cannot be read.
bool read_probe_request(const char* path, ProbeRequest* request);
// `launched`: whether its kernel was launched before; set here.
bool wants_launch(const ProbeRequest& request, uint64_t launch, std::atomic<bool>& launched);

// Lines are kept until flush(), so that a thread that submits never waits for a file: any thread. Records
// and flush(): one thread at a time. Errors are said once.
class ProbeFiles {
 public:
  void open(const std::string& folder, uint64_t most_record_bytes) {
    folder_ = folder;
    room_ = most_record_bytes;
  }
  // Keeps a code object; its name in the folder.
  std::string keep_code(std::span<const std::byte> image);
  void launch(const DispatchView& dispatch, const format::ProbeLaunch& launch,
              const std::string& kernel, const std::string& code, const std::string& target,
              uint32_t gpu, uint32_t lds_bytes, uint32_t scratch_bytes, uint32_t wave_size,
              const std::byte* arguments, uint32_t argument_bytes);
  void done(const format::ProbeLaunch& launch, const char* status);
  // By site; sites that were not executed are left out.
  void counts(const format::ProbeLaunch& launch, const std::vector<format::ProbeCount>& counts);
  void uncounted(const format::ProbeLaunch& launch);
  void plain(const std::string& kernel);
  void refused(const std::string& kernel, const std::string& why);
  void count(const char* type, uint64_t count);
  // Records that no longer fit into the file are counted.
  void records(const std::vector<uint64_t>& words);
  void flush();
  void unlock_after_fork();

 private:
  void line(const std::string& text);
  bool append(const char* suffix, const void* bytes, size_t size);

  std::string folder_;
  LockWord lines_lock_;
  std::string lines_;
  uint64_t room_ = 0;
  bool complained_ = false;
};

}  // namespace wavetap::agent
