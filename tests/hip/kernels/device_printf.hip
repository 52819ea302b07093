// printf in kernels (without a width on %s, which HIP 5.2 itself gets wrong): the text of every
// lane arrives once, whatever the conversions. The program reads its own output through a pipe.
#include <unistd.h>

#include <algorithm>

#include "check.h"

__global__ void print_lanes(int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned block = blockIdx.x;
  if (i < count) printf("lane %d of block %u: %s\n", i, block, i % 2 == 0 ? "even" : "odd");
}

__global__ void print_conversions() {
  printf("[%5d|%-5d|%05d|%x|%X|%o|%u|%c|%%]\n", 42, 42, 42, 0xbeefu, 0xbeefu, 8u, 4000000000u, 'z');
  printf("[%.3f|%10.2f|%e|%g|%s|%s|%lld|%llu]\n", 3.14159, -2.5, 12345.678, 0.0001, "text",
         "more text", -1234567890123ll, 18446744073709551615ull);
  printf("no arguments\n");
}

// Runs `action` with standard output redirected and returns what was printed.
template <class Action>
std::vector<std::string> captured_lines(Action action) {
  std::fflush(stdout);
  char path[] = "/tmp/wavetap_printf_XXXXXX";
  const int file = mkstemp(path);
  const int saved = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  action();
  std::fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  std::string text;
  lseek(file, 0, SEEK_SET);
  char chunk[4096];
  for (ssize_t got; (got = read(file, chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<size_t>(got));
  close(file);
  unlink(path);
  std::vector<std::string> lines;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

int main() {
  const int count = 100;
  std::vector<std::string> lines = captured_lines([] {
    print_lanes<<<4, 32>>>(count);
    check::sync();
  });
  std::vector<std::string> want;
  for (int i = 0; i < count; ++i) {
    want.push_back("lane " + std::to_string(i) + " of block " + std::to_string(i / 32) + ": " +
                   (i % 2 == 0 ? "even" : "odd"));
  }
  std::sort(lines.begin(), lines.end());
  std::sort(want.begin(), want.end());
  check::expect(lines == want, "%zu lines from %d lanes, each once", lines.size(), count);

  lines = captured_lines([] {
    print_conversions<<<1, 1>>>();
    check::sync();
  });
  char expected[2][256];
  std::snprintf(expected[0], sizeof expected[0], "[%5d|%-5d|%05d|%x|%X|%o|%u|%c|%%]", 42, 42, 42,
                0xbeefu, 0xbeefu, 8u, 4000000000u, 'z');
  std::snprintf(expected[1], sizeof expected[1], "[%.3f|%10.2f|%e|%g|%s|%s|%lld|%llu]", 3.14159,
                -2.5, 12345.678, 0.0001, "text", "more text", -1234567890123ll,
                18446744073709551615ull);
  if (!check::expect(lines.size() == 3, "three lines of conversions (got %zu)", lines.size()))
    return check::finish();
  check::expect(lines[0] == expected[0], "integers: %s", lines[0].c_str());
  check::expect(lines[1] == expected[1], "reals, strings, 64-bit: %s", lines[1].c_str());
  check::expect(lines[2] == "no arguments", "a plain string: %s", lines[2].c_str());
  return check::finish();
}
