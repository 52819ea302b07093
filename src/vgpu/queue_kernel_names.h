// Which kernel is this? ROCr copies a code object's segments into GPU memory, and keeps a list of
// what it has loaded where for debuggers: the r_debug structure `_amdgpu_r_debug`, whose entries
// name the load address and a URI of the ELF file (a range of a file, or of this process's memory).
// At fault time, and only then, that list is read; the dynamic linker's lock is not taken, since
// the program may hold it while it waits for the very queue that faulted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/gpu_addr.h"
#include "codeobj/code_object.h"
#include "codeobj/source_map.h"
#include "vgpu/queue_memory.h"

namespace wavetap::vgpu {

struct Gpu;

struct KernelPlace {
  bool found = false;
  std::string name;     // demangled when possible
  std::string library;  // the file its code object came from; "": made in memory, as by hipRTC
  // Of the pc, innermost first, when the code object carries debug information.
  std::vector<codeobj::SourceFrame> frames;
  bool has_entry = false;
  GpuAddr entry;  // the kernel's first instruction
  std::vector<codeobj::KernelArg> args;
};

// The HSA runtimes in a text of /proc/self/maps. A library that is loaded has executable pages; where another thread
// reads its file just now, as we do, it is mapped once more, for a moment.
struct LoadedRuntime {
  uint64_t base = 0;
  std::string path;
};
std::vector<LoadedRuntime> loaded_runtimes(std::string_view maps);

// The file that a code object came from: of one in memory, the file that is mapped there; "": none.
std::string library_of(std::string_view uri);

KernelPlace find_kernel(Gpu& gpu, GuestMemory& memory, GpuAddr kernel_object, GpuAddr pc);

// The same for whoever asks often: debug information is read once for each code object, and kept. Only for
// processes that use no address twice (guarded allocations). Thread-safe.
class KernelFinder {
 public:
  KernelPlace find(Gpu& gpu, GuestMemory& memory, GpuAddr kernel_object, GpuAddr pc);

 private:
  struct Known {
    KernelPlace place;   // without frames
    uint64_t delta = 0;  // of its code object
    std::shared_ptr<const codeobj::SourceMap> source;
  };
  std::mutex mutex_;
  std::map<uint64_t, Known> kernels_;                                      // by kernel object
  std::map<uint64_t, std::shared_ptr<const codeobj::SourceMap>> sources_;  // by delta
};

// What ROCr has loaded now, on any GPU of the process.
struct LoadedCodeObject {
  uint64_t delta = 0;  // loaded address - linked address
  std::string uri;
  std::vector<std::byte> image;  // the ELF file; empty when it cannot be read any more
};
// `wanted` is asked before the image is read.
void for_each_code_object(const std::function<bool(uint64_t delta)>& wanted,
                          const std::function<void(const LoadedCodeObject&)>& visit);

// A code object URI as hsa_ven_amd_loader.h defines it: file://PATH or memory://PID, with an
// optional #offset=N&size=N (or ?offset…). Numbers are decimal, octal or hexadecimal; paths are
// %-encoded.
struct CodeObjectUri {
  bool in_memory = false;
  std::string path;  // files
  uint64_t pid = 0;  // memory
  uint64_t offset = 0;
  uint64_t size_bytes = 0;  // 0: to the end of the file
};
std::optional<CodeObjectUri> parse_code_object_uri(std::string_view uri);

}  // namespace wavetap::vgpu
