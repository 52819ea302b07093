#include "cli/capture_finish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/scoped_fd.h"
#include "cli/command.h"
#include "cli/host_stack.h"
#include "replay/capture_file.h"
#include "replay/capture_pack.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Captures that end at the same time and go to one file take turns.
class OutputLock {
 public:
  explicit OutputLock(const std::string& path) : path_(path) {
    for (;;) {
      fd_ = ScopedFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (fd_.get() < 0 || ::flock(fd_.get(), LOCK_EX) != 0) return;
      struct stat mine {
      }, there{};
      if (::fstat(fd_.get(), &mine) != 0) return;
      // The one that had it before us has replaced the file.
      if (::stat(path.c_str(), &there) != 0 || there.st_ino != mine.st_ino) continue;
      is_new_ = mine.st_size == 0;
      return;
    }
  }
  // An empty file that only stood for the lock goes.
  ~OutputLock() {
    struct stat there {};
    if (::stat(path_.c_str(), &there) == 0 && there.st_size == 0) ::unlink(path_.c_str());
  }
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

  bool is_new() const { return is_new_; }

 private:
  const std::string path_;
  ScopedFd fd_;
  bool is_new_ = true;
};

void say_what_was_captured(const std::string& output, const replay::PackResult& packed) {
  std::string kernel;
  if (!packed.first_kernel.empty())
    kernel = fmt::format(", the first of {}", util::escape_control(packed.first_kernel));
  if (packed.touched_read_bytes > 0)
    kernel += fmt::format("; {} read and {} written by the kernels",
                          util::human_bytes(packed.touched_read_bytes),
                          util::human_bytes(packed.touched_written_bytes));
  say(stderr,
      fmt::format("wavetap: {}: {}{}; {} packed to {}", output,
                  util::count_of(packed.captures, "dispatch"), kernel,
                  util::human_bytes(packed.raw_bytes), util::human_bytes(packed.file_bytes)));
}

}  // namespace

Result<std::string> make_capture_folder(const std::string& output) {
  std::string folder = std::filesystem::absolute(output).string() + ".raw-XXXXXX";
  if (folder.find('\n') != std::string::npos)
    return errorf("-o: a file name is one line; choose another");
  if (::mkdtemp(folder.data()) == nullptr)
    return errorf("%s: cannot be written: %s; choose another place with -o", output.c_str(),
                  std::strerror(errno));
  return folder;
}

Status check_capture_output(const CaptureOptions& options) {
  const char* name = options.output.c_str();
  if (options.output.empty()) return errorf("-o: names no file; write -o FILE.wtcap");
  if (options.append && options.force)
    return errorf("capture: --append and --force exclude each other; leave out one of them");
  if (util::is_special(options.output))
    return errorf("%s: not a regular file; name another one with -o", name);
  struct stat there {};
  const bool exists = ::stat(name, &there) == 0;
  if (exists && S_ISDIR(there.st_mode))
    return errorf("%s: is a folder; name a file in it with -o", name);
  if (!exists || options.force) return {};
  if (!options.append) {
    return errorf(
        "%s: exists; add to it with --append, replace it with --force, or choose another "
        "name with -o",
        name);
  }
  const Result<std::unique_ptr<replay::CaptureFile>> file =
      replay::CaptureFile::open(options.output);
  if (!file.ok()) return file.error();
  if (!(*file)->damage().empty())
    return errorf("%s: %s; replace it with --force, or choose another name with -o", name,
                  (*file)->damage().c_str());
  return {};
}

int finish_capture(const CaptureOptions& options, const std::string& folder) {
  std::vector<std::string> files = files_in(folder);
  if (files.empty()) {
    std::filesystem::remove(folder);
    return fail(
        errorf(
            "%s: not written: no dispatch was captured%s; see which kernels and ranges there are "
            "with wavetap run%s and wavetap report",
            options.output.c_str(),
            options.range.empty() ? "" : (" in a range '" + options.range + "'").c_str(),
            options.gpus.empty() ? "" : (" --gpu " + util::join(options.gpus, ",")).c_str()),
        kIncomplete);
  }
  const OutputLock lock(options.output);
  if (std::filesystem::exists(options.output) && !lock.is_new() && !options.force) {
    if (!options.append)
      warn({options.output + ": appeared while the program ran; the captures are added to it"});
    files.insert(files.begin(), options.output);
  }
  replay::PackOptions pack;
  pack.only_touched = options.only_touched || options.redact;
  pack.redact = options.redact;
  pack.name_frame = name_host_frame;
  const Result<replay::PackResult> packed = replay::pack_captures(files, options.output, pack);
  if (!packed.ok()) {
    return fail({packed.error().message + "; the captures are in " + folder}, kIncomplete);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  for (const std::string& problem : packed->problems)
    warn({util::escape_control(problem) + "; what comes before it is kept"});
  say_what_was_captured(options.output, *packed);
  return packed->captures > 0 ? kDone : kIncomplete;
}

}  // namespace wavetap::cli
