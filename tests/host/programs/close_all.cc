// A daemon's habit: close every descriptor, then use the numbers for something else. The recorder
// must not read, accept on, write to or close what the program put there.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <thread>

#include "host.h"

namespace {

void calls(int times) {
  for (int i = 0; i < times; ++i) {
    void* memory = nullptr;
    CALL(hipMalloc, &memory, 64);
    CALL(hipFree, memory);
  }
}

int listening_socket(int number) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // an abstract name: nothing to clean up
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                   "wavetap-host-%d-%d", getpid(), number);
  bind(fd, reinterpret_cast<sockaddr*>(&address),
       static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length));
  listen(fd, 4);
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int connected =
      connect(client, reinterpret_cast<sockaddr*>(&address),
              static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length));
  if (connected != 0) host::say("connect failed");
  (void)!write(client, "start\n", 6);
  return fd;
}

}  // namespace

int main() {
  calls(100);
  close_range(3, ~0u, 0);
  int sockets[100];
  for (int i = 0; i < 100; ++i) sockets[i] = listening_socket(i);
  calls(1000);
  // Long enough for a helper thread to look at what it thinks are its own descriptors.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::thread([] { calls(10000); }).join();
  int accepted = 0;
  for (const int fd : sockets) {
    fcntl(fd, F_SETFL, O_NONBLOCK);
    const int connection = accept(fd, nullptr, nullptr);
    char request[6] = {};
    accepted += connection >= 0 && read(connection, request, 6) == 6 &&
                std::memcmp(request, "start\n", 6) == 0;
    if (connection >= 0) close(connection);
  }
  host::say("connections that reached the program: %d", accepted);
  close_range(3, ~0u, 0);
  calls(100);
  host::report();
  return 0;
}
