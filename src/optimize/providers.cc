#include "optimize/providers.h"

#include <unistd.h>

#include <cstdlib>

#include "optimize/answer_text.h"
#include "optimize/rules.h"
#include "util/file.h"
#include "util/isolated.h"

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

// What a provider may answer at most.
// The request on standard input, the answer on standard output.
class CommandProvider final : public Provider {
 public:
  CommandProvider(std::string command, double seconds)
      : command_(std::move(command)), seconds_(seconds) {}
  std::string name() const override { return "command:" + command_; }

  Result<Proposed> propose(const Json& request) override {
    char path[] = "/tmp/wavetap.request.XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) return errorf("%s: cannot be made", path);
    close(fd);
    Result<Proposed> answer = ask(request, path);
    unlink(path);
    return answer;
  }

 private:
  Result<Proposed> ask(const Json& request, const std::string& path) {
    const Status written =
        util::write_file(path, request.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!written.ok()) return written.error();
    util::ShellOptions shell;
    shell.seconds = seconds_;
    shell.output_bytes = kMostAnswerBytes;
    const Result<util::ShellResult> ran =
        util::run_shell("( " + command_ + " ) < " + path + " 2>/dev/null", shell);
    if (!ran.ok()) return ran.error();
    if (ran->timed_out) return errorf("%s: no answer after %g seconds", command_.c_str(), seconds_);
    if (ran->status != 0)
      return Proposed{true, "declined with exit status " + std::to_string(ran->status), {}};
    return parse_answer(ran->output);
  }

  const std::string command_;
  const double seconds_;
};

}  // namespace

Result<std::unique_ptr<Provider>> make_provider(const std::string& name, double seconds) {
  if (name == "rules") return make_rules();
  if (name.starts_with("command:") && name.size() > 8)
    return std::unique_ptr<Provider>(std::make_unique<CommandProvider>(name.substr(8), seconds));
  return errorf("--provider %s: not known; write rules, command:PROGRAM or http", name.c_str());
}

}  // namespace wavetap::optimize
