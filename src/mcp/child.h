// Child: a command of ours that runs beside the server, watched by its poll loop. It and everything it
// started end together: by themselves, at the limit of time, or when the client has lost interest.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::mcp {

class Child {
 public:
  using Clock = std::chrono::steady_clock;

  // In `folder`, with nothing on its standard input. Of each output at most `most_bytes` are kept: the
  // beginning.
  static Result<Child> start(const std::vector<std::string>& words, const std::string& folder,
                             size_t most_bytes);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills it

  int output_fd() const { return output_.fd; }  // -1: at its end
  int errors_fd() const { return errors_.fd; }
  // Takes what there is, without waiting; true when it is over.
  bool look();
  // Asks it to end; a little later look() makes it.
  void end();

  int status() const { return status_; }  // as a shell reports it
  const std::string& output() const { return output_.text; }
  const std::string& errors() const { return errors_.text; }
  bool is_cut() const { return output_.is_cut; }
  double seconds() const;  // since it was started

 private:
  struct Stream {
    int fd = -1;
    std::string text;
    bool is_cut = false;
  };
  Child() = default;
  void take(Stream& stream) const;

  pid_t pid_ = -1;
  Stream output_, errors_;
  size_t most_bytes_ = 0;
  int status_ = 0;
  Clock::time_point started_{}, told_{};
  bool is_told_ = false;
};

}  // namespace wavetap::mcp
