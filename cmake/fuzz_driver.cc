// Drives a libFuzzer entry point without libFuzzer: `[--random N SEED] FILE…` feeds N random
// inputs, then each file once. Keeps every fuzzer in the ordinary build and test run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  int next = 1;
  if (argc >= 4 && std::strcmp(argv[1], "--random") == 0) {
    const int count = std::atoi(argv[2]);
    const uint64_t seed = std::strtoull(argv[3], nullptr, 0);
    next = 4;
    std::printf("fuzz: %d random inputs, seed %llu\n", count,
                static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < count; ++i) {
      std::vector<uint8_t> bytes(random() % 512);
      for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
  for (; next < argc; ++next) {
    std::printf("fuzz: %s\n", argv[next]);
    std::fflush(stdout);
    std::ifstream in(argv[next], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "fuzz: cannot read %s\n", argv[next]);
      return 1;
    }
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
