// Recording: what a tool of AMD's measured, whatever its format. Readers add to it, one file after another;
// write_trace() makes a trace of it.
//
// Files of one run belong together by their `scope`: the process that wrote them, as far as the format or the
// file's name tells. Times are nanoseconds of the tool's own clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/import_result.h"

namespace wavetap::foreign {

struct Process {
  int64_t pid = 0;
  std::string hostname, command;
};

struct Gpu {
  std::string target;   // "gfx90a"; "": not known
  std::string product;  // "AMD Instinct MI210"
  int64_t compute_units = 0, wave_size = 0;
};

struct Call {
  std::string scope;
  int64_t tid = 0, start = 0, end = 0, correlation = 0;
  std::string domain, name, args;
  bool is_marker = false;
};

struct Dispatch {
  std::string scope;
  std::string kernel;
  std::string gpu;    // key of Recording::gpus
  std::string queue;  // any text that tells queues apart
  int64_t number = 0, tid = 0, stream = 0, start = 0, end = 0, correlation = 0;
  int64_t grid[3] = {1, 1, 1}, workgroup[3] = {1, 1, 1};  // work-items
  int64_t lds_bytes = 0, scratch_bytes = 0;
  int64_t vgprs = 0, agprs = 0, sgprs = 0, wave_size = 0;
  std::map<std::string, double> counters;
};

struct Copy {
  std::string scope, kind;  // CopyHostToDevice …
  std::string gpu;          // the one it belongs to; "": none is named
  int64_t start = 0, end = 0, bytes = 0, correlation = 0, stream = 0;
};

struct Allocation {
  std::string scope, gpu;  // "": host memory
  int64_t start = 0, end = 0, bytes = 0, correlation = 0;
  uint64_t address = 0;
};

struct Recording {
  std::map<std::string, Process> processes;  // by scope
  std::map<std::string, Gpu> gpus;           // by key
  std::vector<Call> calls;
  std::vector<Dispatch> dispatches;
  std::vector<Copy> copies;
  std::vector<Allocation> allocations;
  std::vector<std::string> notes;  // what could not be taken, one sentence each
  uint64_t files = 0, losses = 0;

  bool is_empty() const {
    return calls.empty() && dispatches.empty() && copies.empty() && allocations.empty();
  }
  // A row that makes no sense: counted, and the first of each kind said.
  void lose(const std::string& where, const std::string& what);

  // The dispatch of a number in a scope, made when it is not there: counters come in several files.
  Dispatch& dispatch(const std::string& scope, int64_t number, std::string_view kernel);

 private:
  std::map<std::string, size_t> by_number_;
};

// One reader for each format. `name`: of the file, for messages. An error names file and place.
Status read_rocpd(const std::string& path, Recording& recording);
Status read_csv(const std::string& name, std::string_view text, Recording& recording);
Status read_json(const std::string& name, std::string_view text, Recording& recording);

// A file, or every file of a folder and those below it that is one of AMD's. False: there is none.
Result<bool> read_all(const std::string& path, Recording& recording);
// What read_all() would read, by name and first bytes only.
bool is_foreign(const std::string& path);

Result<store::ImportResult> write_trace(const Recording& recording, const std::string& output,
                                        bool overwrite);

// Texts of AMD's formats.
std::string copy_kind(
    std::string_view direction);  // MEMORY_COPY_HOST_TO_DEVICE -> CopyHostToDevice

}  // namespace wavetap::foreign
