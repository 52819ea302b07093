// What `wavetap run --gpu` hands to libwavetap_gpu.so: a run directory, named by WAVETAP_GPU_DIR.
//
//   DIR/config       `key = value` lines: the fields of Config, and one `gpu` line per model
//   DIR/models/N     the text of the N-th model
//   DIR/fs/...       the files of /sys, /dev and /proc that the virtual machine shows in place of the host's
//   DIR/shared/...   what processes of the program tell each other
//   DIR/in-use       locked by every process that has opened the device
//
// The command writes it before the program starts and removes it when no process needs it any more:
// one may outlive the first. Both sides are this file, so they cannot disagree.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "vgpu/config.h"

namespace wavetap::vgpu {

inline constexpr char kRunDirVariable[] = "WAVETAP_GPU_DIR";
// Bumped when the meaning of an existing key or file changes; a reader refuses other versions.
inline constexpr uint32_t kRunDirVersion = 1;

// Writes the whole run directory, creating `dir`.
Status write_run_dir(const std::string& dir, const Config& config);
void remove_run_dir(const std::string& dir);
// Says that this process uses the directory, until it and its children have ended or the descriptor
// is closed. A descriptor, or -errno.
int hold_run_dir(const std::string& dir);
// Does any process hold it? Those that have not opened the device yet do not.
bool is_run_dir_held(const std::string& dir);
// Reads DIR/config and the models; the tree needs no reading.
Result<Config> read_run_dir(const std::string& dir);

}  // namespace wavetap::vgpu
