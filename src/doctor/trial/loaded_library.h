// The runtimes as this process finds them: libraries opened by name, functions by symbol. The trial
// links none of them, so that it starts everywhere and says what is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::doctor::trial {

class Library {
 public:
  // The first of the names that can be opened.
  explicit Library(const std::vector<const char*>& names);
  bool ok() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  // Where the opened one is.
  std::string path() const;

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
  std::string error_;
};

const Library& hip_library();
const Library& hsa_library();
const Library& cuda_library();

// What one device says of itself through one layer; 0 and "" where the layer does not say.
struct Figures {
  std::string name;
  std::string arch;  // "gfx1030:xnack-", "sm_88"
  uint64_t multiprocessors = 0;
  uint64_t clock_mhz = 0;
  uint64_t wave_size = 0;
  uint64_t lds_bytes = 0;
  uint64_t vram_bytes = 0;
  uint64_t l2_bytes = 0;
  uint64_t node = 0;        // of the driver's topology; HSA only
  std::string pci_address;  // "0000:03:00.0"
};

// An error message, or "" and the figures of every device.
std::string hsa_figures(std::vector<Figures>& figures);
std::string hip_figures(std::vector<Figures>& figures);
std::string cuda_figures(std::vector<Figures>& figures);

}  // namespace wavetap::doctor::trial
