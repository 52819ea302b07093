// The trace that one run writes, or several.
//
// Ranks of one job (`mpirun wavetap run -o x.rpd -- prog`) name the same file. Runs that were under way
// at the same time belong together: the first to end replaces an older file, the others add to what
// it wrote. A run that begins when all of them have ended begins anew, unless it is told to add
// (--append).
//
// Who is under way is known by locks on a file beside the trace, FILE.lock, which the kernel drops
// however a run dies. Byte 0 is held, shared, by every run from its beginning to its end; byte 1 by
// whoever changes the trace or that file. The file names the generation, a random word that the
// first run makes up and that the trace carries in its metadata. The last run removes it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/scoped_fd.h"

namespace wavetap::cli {

struct Placed {
  bool added = false;          // to what others had written
  uint64_t events_before = 0;  // calls and GPU operations of those
};

class SharedOutput {
 public:
  // `append`: whatever the file holds is kept. When no lock can be had, the run goes on without and
  // problem() says why.
  static SharedOutput join(const std::string& path, bool append);

  SharedOutput(SharedOutput&&) = default;
  SharedOutput& operator=(SharedOutput&&) = default;
  ~SharedOutput() { leave(); }

  const std::string& problem() const { return problem_; }

  // Makes the trace `staged` the file, or adds it to the file; `staged` is gone afterwards only in
  // the first case. After a failure both are as they were.
  Result<Placed> place(const std::string& staged);

 private:
  SharedOutput(std::string path, bool append) : path_(std::move(path)), append_(append) {}
  bool open_lock();
  // Of a caller that holds the mutex and is no member, or no more. Who waits for the mutex of a file
  // that is gone begins again with another.
  void remove_unused_lock();
  std::string lock_path() const { return path_ + ".lock"; }
  void leave();

  std::string path_;
  bool append_ = false;
  std::string generation_;
  std::string problem_;
  ScopedFd lock_;
};

}  // namespace wavetap::cli
