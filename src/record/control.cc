// The control socket: one listening descriptor, looked at on the file thread's rounds; connections
// are served one after the other and closed. Only the same user may ask, which the folder's mode,
// the socket's mode and the peer's credentials each ensure.
//
// Where the file thread has no descriptor table of its own, programs may close descriptors they do
// not know (daemons, test harnesses), and the number may then be reused for something of theirs. So
// before each use the descriptor is compared with what it was when made.
#include "record/control.h"

#include <dirent.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>

#include "format/session.h"
#include "record/clock.h"
#include "record/functions.h"
#include "record/losses.h"
#include "record/session.h"
#include "record/state.h"
#include "record/sys.h"

namespace wavetap::record {
namespace {

constexpr int kPatienceMs = 200;  // for a client that has connected to send its line
constexpr size_t kMaxAnswer = 64 << 10;
constexpr int kMaxStale = 64;  // sockets looked at when ours is made

enum class State : uint8_t { kNew, kListening, kOff };
// Owned by the file thread; the others only read g_socket_path at exit.
std::atomic<State> g_listening{State::kNew};  // kListening is stored after the rest
int g_socket = -1;
struct stat g_socket_identity;
char g_socket_path[108];

// Without any, as before the recorder is ready: nothing is recorded.
constexpr Commands kNone = {.start = [](uint32_t) { return 0u; },
                            .stop = [](uint32_t) { return 0u; },
                            .flush = [](uint32_t) {},
                            .count = [] { return 0u; }};
const Commands* g_commands = &kNone;

constexpr int kMaxWriters = 8;
std::atomic<size_t (*)(char*, size_t)> g_status_writers[kMaxWriters];

// A folder that only this user can reach.
bool make_private_folder(const char* path) {
  const int made = sys::make_directory(path, 0700);
  if (made != 0 && made != -EEXIST) return false;
  struct stat st {};
  if (sys::call(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return S_ISDIR(st.st_mode) && st.st_uid == static_cast<uid_t>(sys::call(SYS_geteuid)) &&
         (st.st_mode & 077) == 0;
}

// Sockets of processes that died without removing theirs. Whether somebody listens is asked of the
// socket: a process number says nothing about the processes of another container that shares the
// folder.
void remove_stale_sockets(const char* folder) {
  const int fd = sys::open(folder, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;
  struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t record_length;
    uint8_t type;
    char name[];
  };
  alignas(Entry) char buffer[4096];
  int tried = 0;
  for (int64_t count;
       tried < kMaxStale && (count = sys::call(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;) {
    for (int64_t at = 0; at < count && tried < kMaxStale;) {
      const auto* const entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->record_length;
      if (entry->type != DT_SOCK) continue;
      ++tried;
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      const int length =
          snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, entry->name);
      if (length <= 0 || static_cast<size_t>(length) >= sizeof address.sun_path) continue;
      const int probe = static_cast<int>(
          sys::call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (probe < 0) break;
      if (sys::call(SYS_connect, probe, &address, sizeof address) == -ECONNREFUSED)
        sys::unlink(address.sun_path);
      sys::close(probe);
    }
  }
  sys::close(fd);
}

bool choose_path() {
  char folder[96];
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  int length = -1;
  if (runtime != nullptr && runtime[0] == '/')
    length = snprintf(folder, sizeof folder, "%s/wavetap", runtime);
  if (length <= 0 || static_cast<size_t>(length) >= sizeof folder - 20 ||
      !make_private_folder(folder)) {
    snprintf(folder, sizeof folder, "/tmp/wavetap-%u",
             static_cast<unsigned>(sys::call(SYS_geteuid)));
    if (!make_private_folder(folder)) return false;
  }
  remove_stale_sockets(folder);
  length = snprintf(g_socket_path, sizeof g_socket_path, "%s/%u%s", folder, session().pid(),
                    format::kSocketSuffix);
  return length > 0 && static_cast<size_t>(length) < sizeof g_socket_path;
}

// Out of the way of the numbers a program counts on.
int move_up(int fd) {
  struct rlimit limit {};
  int above = 900;
  if (sys::call(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) == 0 && limit.rlim_cur < 1000)
    above = static_cast<int>(limit.rlim_cur) * 3 / 4;
  const int64_t moved = sys::call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, above);
  if (moved < 0) return fd;
  sys::close(fd);
  return static_cast<int>(moved);
}

bool listen_socket() {
  if (!choose_path()) return false;
  int fd = static_cast<int>(
      sys::call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd < 0) return false;
  fd = move_up(fd);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, g_socket_path, sizeof g_socket_path);
  sys::unlink(g_socket_path);  // of a process that had our number before
  if (sys::call(SYS_bind, fd, &address, sizeof address) != 0 ||
      sys::call(SYS_fchmodat, AT_FDCWD, g_socket_path, 0600) != 0 ||
      sys::call(SYS_listen, fd, 8) != 0 || sys::fstat(fd, &g_socket_identity) != 0) {
    sys::close(fd);
    g_socket_path[0] = '\0';
    return false;
  }
  g_socket = fd;
  return true;
}

bool still_ours() {
  struct stat now {};
  return sys::fstat(g_socket, &now) == 0 && now.st_ino == g_socket_identity.st_ino &&
         now.st_dev == g_socket_identity.st_dev;
}

// The request line, or "" when none comes.
std::string_view receive_line(int fd, char* buffer, size_t size) {
  size_t used = 0;
  while (used < size) {
    pollfd wait{fd, POLLIN, 0};
    const timespec patience{0, kPatienceMs * 1'000'000L};
    if (sys::call(SYS_ppoll, &wait, 1, &patience, nullptr, 0) <= 0) return {};
    const int64_t count = sys::read(fd, buffer + used, size - used);
    if (count <= 0) break;
    used += static_cast<size_t>(count);
    if (memchr(buffer, '\n', used) != nullptr) break;
  }
  const void* const end = memchr(buffer, '\n', used);
  if (end == nullptr) return {};
  return {buffer, static_cast<size_t>(static_cast<const char*>(end) - buffer)};
}

void send_all(int fd, const char* text, size_t size) {
  while (size > 0) {
    const int64_t count = sys::call(SYS_sendto, fd, text, size, MSG_NOSIGNAL, nullptr, 0);
    if (count == -EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      const timespec patience{0, kPatienceMs * 1'000'000L};
      if (sys::call(SYS_ppoll, &wait, 1, &patience, nullptr, 0) <= 0) return;
      continue;
    }
    if (count <= 0) return;
    text += count;
    size -= static_cast<size_t>(count);
  }
}

void serve_client(int fd, Answer give_answer) {
  ucred peer{};
  socklen_t size = sizeof peer;
  static char answer[kMaxAnswer];  // file thread only
  size_t length;
  if (sys::call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != static_cast<uid_t>(sys::call(SYS_geteuid))) {
    length = static_cast<size_t>(snprintf(answer, sizeof answer, "error not your process\n"));
  } else {
    char line[format::kMaxRequest];
    const Request request = parse_request(receive_line(fd, line, sizeof line));
    length = give_answer(request, static_cast<uint32_t>(peer.pid), answer, sizeof answer);
  }
  send_all(fd, answer, length);
}

// Appends; never beyond the end, and then nothing more.
class Lines {
 public:
  Lines(char* out, size_t size) : out_(out), size_(size) {}

  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(out_ + used_, size_ - used_, format, arguments);
    va_end(arguments);
    if (length > 0 && static_cast<size_t>(length) < size_ - used_)
      used_ += static_cast<size_t>(length);
  }
  void add(size_t (*write)(char*, size_t)) {
    const size_t length = write(out_ + used_, size_ - used_);
    if (length <= size_ - used_) used_ += length;
  }
  size_t used() const { return used_; }

 private:
  char* out_;
  size_t size_;
  size_t used_ = 0;
};

void write_status(Lines& lines) {
  const Session& files = session();
  lines.add("pid %u\n", files.pid());
  lines.add("session %s\n", files.folder());
  lines.add("state %s\n", files.failed() ? "ended" : recording() ? "recording" : "stopped");
  lines.add("count %u\n", g_commands->count());
  uint64_t threads = 0;
  session().for_each_stream([&](Stream&) { ++threads; });
  lines.add("threads %llu\n", static_cast<unsigned long long>(threads));
  lines.add("events %llu\n", static_cast<unsigned long long>(session().events()));
  lines.add("bytes %llu\n", static_cast<unsigned long long>(files.bytes_written()));
  lines.add("losses %llu\n", static_cast<unsigned long long>(losses_so_far()));
  session().for_each_stream([&](Stream& stream) {
    const format::ChunkHeader* const chunk = stream.chunk();
    if (chunk == nullptr) return;
    const uint64_t open = __atomic_load_n(&chunk->open_call, __ATOMIC_RELAXED);
    const uint64_t since = __atomic_load_n(&chunk->open_since, __ATOMIC_RELAXED);
    if (open != 0)
      lines.add("call %u %s %.6f\n", stream.tid(), function_name(static_cast<uint32_t>(open >> 32)),
                seconds_since(since));
  });
  for (auto& slot : g_status_writers)
    if (size_t(*const write)(char*, size_t) = slot.load(std::memory_order_acquire))
      lines.add(write);
}

}  // namespace

void set_commands(const Commands* commands) { g_commands = commands; }

void add_status(size_t (*write)(char* buffer, size_t size)) {
  for (auto& slot : g_status_writers) {
    size_t (*empty)(char*, size_t) = nullptr;
    if (slot.compare_exchange_strong(empty, write, std::memory_order_release) || empty == write)
      return;
  }
}

Request parse_request(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
    line.remove_suffix(1);
  if (line == "start") return Request::kStart;
  if (line == "stop") return Request::kStop;
  if (line == "flush") return Request::kFlush;
  if (line == "status") return Request::kStatus;
  return Request::kUnknown;
}

size_t answer_request(Request request, uint32_t pid, char* out, size_t size) {
  // Room for the last line is kept free.
  constexpr size_t kLastLine = 64;
  Lines lines(out, size - kLastLine);
  switch (request) {
    case Request::kStart: lines.add("count %u\n", g_commands->start(pid)); break;
    case Request::kStop: lines.add("count %u\n", g_commands->stop(pid)); break;
    case Request::kFlush: g_commands->flush(pid); break;
    case Request::kStatus: write_status(lines); break;
    case Request::kUnknown: {
      const int length =
          snprintf(out, size, "error unknown request; say start, stop, flush or status\n");
      return static_cast<size_t>(length);
    }
  }
  const bool ended = session().failed() && request == Request::kStart;
  const int length =
      snprintf(out + lines.used(), kLastLine, "%s", ended ? "error recording has ended\n" : "ok\n");
  return lines.used() + static_cast<size_t>(length);
}

bool serve_control(Answer answer) {
  if (g_listening == State::kNew) g_listening = listen_socket() ? State::kListening : State::kOff;
  if (g_listening != State::kListening) return false;
  if (!still_ours()) {
    g_listening = State::kOff;
    g_socket = -1;
    return false;
  }
  const int client = static_cast<int>(
      sys::call(SYS_accept4, g_socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client < 0) return false;
  serve_client(client, answer);
  sys::close(client);
  return true;
}

void close_control() {
  if (g_listening == State::kListening) sys::unlink(g_socket_path);
}

void forget_control() {
  if (g_listening == State::kListening && still_ours()) sys::close(g_socket);
  g_listening = State::kNew;
  g_socket = -1;
  g_socket_path[0] = '\0';
}

}  // namespace wavetap::record
