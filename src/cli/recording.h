// The recording side of `wavetap run`: a session folder beside the output file, what the program's
// environment must say so that libwavetap.so records into it, and what becomes of it when the
// program has ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/live_process.h"
#include "cli/shared_output.h"
#include "store/import.h"
#include "util/subprocess.h"

namespace wavetap::cli {

struct RecordingOptions {
  std::string output = "trace.rpd";
  bool append = false;  // keep what the file holds
  bool hsa = false;
  bool args = false;
  bool stacks = false;
  bool barriers = false;
  bool start_paused = false;
  bool keep_raw = false;
  bool quiet = false;     // say nothing about what was recorded
  std::string durations;  // console, a file, or "" for none
};

class Recording {
 public:
  // Makes the session folder, "<output>.raw-XXXXXX".
  static Result<Recording> begin(const RecordingOptions& options);

  // WAVETAP_SESSION and WAVETAP_OPTIONS.
  std::vector<std::pair<std::string, std::string>> environment() const;

  // After the program has ended with this status as a shell reports it: imports, says what was
  // recorded, and how the program died if it did. Never fails the run: problems are warnings.
  // `running`: processes that have inherited the session and go on; the folder is kept for them.
  struct Outcome {
    std::optional<uint64_t> kernels;  // that the program dispatched; nothing when that is not known
    uint64_t processes = 0;           // that loaded the GPU's libraries
    std::vector<store::ImportedSwap> swaps;
  };
  Outcome finish(int status, const util::RunDetails& details,
                 const std::vector<Inheritor>& running);
  // The program never ran: removes the folder.
  void discard();

  const std::string& folder() const { return folder_; }

 private:
  void keep_raw(const Error& error) const;
  void print(const store::ImportResult& result, const Placed& placed) const;
  void keep_or_remove(const std::vector<Inheritor>& running) const;

  RecordingOptions options_;
  std::string folder_;
  std::unique_ptr<SharedOutput> output_;
};

// Imports with a progress line on a terminal. `shown`: the name of the trace there.
Result<store::ImportResult> import_with_progress(const std::string& folder,
                                                 const std::string& output,
                                                 const std::string& shown,
                                                 store::ImportOptions options);

// "trace.rpd: 1 234 events (1 200 calls, 34 dispatches) in 1.5 s, overhead about 0.1 %, 0 lost".
std::string summary_line(const store::ImportResult& result, const std::string& output);

// Every GPU operation of a trace as CSV: name,queue,start,end,ns,gpu,op,grid,workgroup. `where` is "console" or a file.
Status write_durations(const std::string& trace, const std::string& where);

}  // namespace wavetap::cli
