// The server on standard input and output.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/scoped_fd.h"
#include "mcp/server.h"

namespace wavetap::mcp {
namespace {

// While a child runs, how often to see whether it has ended.
constexpr int kTick = 50;

bool write_all(const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    written += static_cast<size_t>(count);
  }
  return true;
}

// Bytes in, whole lines out.
class Lines {
 public:
  // False at the end of the input.
  bool read_some(Server& server) {
    char buffer[65536];
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    if (count == 0) {
      if (!text_.empty() && !is_skipping_) server.receive(text_);
      return false;
    }
    text_.append(buffer, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', begin)) {
      if (!is_skipping_) server.receive(text_.substr(begin, end - begin));
      is_skipping_ = false;
      begin = end + 1;
    }
    text_.erase(0, begin);
    if (text_.size() > kMostMessageBytes) {
      if (!is_skipping_) server.refuse_long_line();
      is_skipping_ = true;
      text_.clear();
    }
    return true;
  }

 private:
  std::string text_;
  bool is_skipping_ = false;  // to the end of a line that is too long
};

}  // namespace

int serve(ServerOptions options) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t ending;
  sigemptyset(&ending);
  for (const int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending, one);
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  const ScopedFd signals(signalfd(-1, &ending, SFD_CLOEXEC));
  bool is_open = true, can_write = true;
  Server server(std::move(options), [&](const std::string& line) {
    if (can_write) can_write = write_all(line);
  });
  Lines lines;
  while (can_write && (is_open || server.is_busy())) {
    std::vector<pollfd> polled = {{signals.get(), POLLIN, 0},
                                  {is_open ? STDIN_FILENO : -1, POLLIN, 0}};
    for (const int fd : server.fds()) polled.push_back({fd, POLLIN, 0});
    if (poll(polled.data(), polled.size(), server.is_busy() ? kTick : -1) < 0 && errno != EINTR)
      return 1;
    if (polled[0].revents != 0) return 0;
    if (is_open && polled[1].revents != 0) is_open = lines.read_some(server);
    server.look();
  }
  return 0;
}

}  // namespace wavetap::mcp
