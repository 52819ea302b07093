#include "optimize/providers.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/scoped_fd.h"
#include "base/whole_io.h"
#include "optimize/answer_text.h"
#include "optimize/rules.h"
#include "util/isolated.h"
#include "util/json.h"

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

// The request on standard input, the answer on standard output.
class CommandProvider final : public Provider {
 public:
  CommandProvider(std::string command, double seconds)
      : command_(std::move(command)), seconds_(seconds) {}
  std::string name() const override { return "command:" + command_; }
  std::string stopped() const override { return over_; }

  // The request has sources in it: its file is nobody else's.
  Result<Proposed> propose(const Json& request) override {
    std::error_code error;
    std::string path = std::filesystem::temp_directory_path(error).string();
    path = (error ? "/tmp" : path) + "/wavetap.request.XXXXXX";
    const ScopedFd fd(mkostemp(path.data(), O_CLOEXEC));
    if (!fd.valid()) return errorf("%s: cannot be made: %s", path.c_str(), std::strerror(errno));
    const std::string text = util::json_line(request);
    Result<Proposed> answer = errorf("%s: cannot be written; is there room?", path.c_str());
    if (sys::write_whole(fd.get(), text)) answer = ask(path);
    unlink(path.c_str());
    return answer;
  }

 private:
  Result<Proposed> ask(const std::string& path) {
    util::ShellOptions shell;
    shell.seconds = seconds_;
    shell.output_bytes = kMostAnswerBytes;
    const Result<util::ShellResult> ran =
        util::run_shell("( " + command_ + " ) < '" + path + "' 2>/dev/null", shell);
    if (!ran.ok()) return ran.error();
    if (ran->timed_out) return errorf("%s: no answer after %g seconds", command_.c_str(), seconds_);
    // The shell's words for a program that is not there or is none.
    if (ran->status == 126 || ran->status == 127) {
      over_ = "--provider command:" + command_ + ": cannot be run; check the path and its rights";
      return Error{over_};
    }
    if (ran->status != 0)
      return Proposed{true, "declined with exit status " + std::to_string(ran->status), {}};
    return parse_answer(ran->output);
  }

  const std::string command_;
  const double seconds_;
  std::string over_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_provider(const std::string& name, double seconds) {
  if (name == "rules") return make_rules();
  if (name.starts_with("command:") && name.size() > 8)
    return std::unique_ptr<Provider>(std::make_unique<CommandProvider>(name.substr(8), seconds));
  return errorf("--provider %s: not known; write rules, command:PROGRAM or http", name.c_str());
}

}  // namespace wavetap::optimize
