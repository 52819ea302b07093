// `wavetap capture show`, and what else describes a capture.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "replay/capture_file.h"
#include "replay/captured_kernel.h"
#include "replay/replay_run.h"

namespace wavetap::cli {

// What `replay` and `capture show` exit with besides the codes of every command. docs/capture.md
// promises them.
inline constexpr int kDamagedFile = 10;
inline constexpr int kOtherIsa = 11;
inline constexpr int kNoKernel = 12;
inline constexpr int kOtherLayout = 13;
inline constexpr int kKernelFault = 14;
inline constexpr int kMismatch = 15;
inline constexpr int kRefusedArgument = 16;
inline constexpr int kCannotReserve = 17;

struct ReplayExit {
  int code;
  const char* meaning;
};
// As `replay --help` and docs/capture.md say it.
// clang-format off
inline constexpr ReplayExit kReplayExits[] = {
    {kDamagedFile, "the file is damaged, is no capture, or ends before the capture is whole"},
    {kOtherIsa, "--swap: code for other GPUs, or waves of another size; --gpu, --hsa: another GPU"},
    {kNoKernel, "--swap: no such kernel"},
    {kOtherLayout, "--swap: the kernel's arguments lie elsewhere"},
    {kKernelFault, "the kernel faulted"},
    {kMismatch, "--verify found a difference"},
    {kRefusedArgument, "the kernel needs something that a replay does not have"},
    {kCannotReserve, "the captured memory cannot be had, or not at its addresses"},
};
// clang-format on

// Below `capture`; sets `chosen` when it is what the user asked for.
void add_capture_show(Command& capture, Invocation& invocation, bool& chosen);

// `capture export`, likewise.
void add_capture_export(Command& capture, Invocation& invocation, bool& chosen);

int exit_code_of(replay::Refusal refusal);

// Opens a file of captures. Where it fails, prints why, and *exit_code says with what to exit.
std::unique_ptr<replay::CaptureFile> open_captures(const std::string& path, int* exit_code);

// Capture `number` (from 1) of a file, usable: its state before the dispatch is whole. Warns where the
// file ends early.
Result<const replay::Capture*> choose_capture(const replay::CaptureFile& file, uint32_t number);

// The same, with the error printed: null, and *exit_code says with what to exit.
const replay::Capture* usable_capture(const replay::CaptureFile& file, uint32_t number,
                                      int* exit_code);

}  // namespace wavetap::cli
