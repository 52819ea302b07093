// Copies and fills in every direction: odd sizes and addresses, dependencies, rectangles, many at
// once.
#include "hsa_test.h"

using namespace hsa_test;

namespace {

constexpr size_t kBytes = 3 << 20;

struct Place {
  const char* name;
  hsa_agent_t agent;
  uint8_t* memory;
};

uint8_t byte_at(size_t i, uint32_t seed) {
  return static_cast<uint8_t>(i * 31 + (i >> 8) * 7 + seed);
}

void fill_host(uint8_t* bytes, size_t size, uint32_t seed) {
  for (size_t i = 0; i < size; ++i) bytes[i] = byte_at(i, seed);
}

bool copy_and_wait(const Place& to, size_t to_offset, const Place& from, size_t from_offset,
                   size_t size) {
  const hsa_signal_t signal = make_signal(1);
  HSA(hsa_amd_memory_async_copy(to.memory + to_offset, to.agent, from.memory + from_offset,
                                from.agent, size, 0, nullptr, signal));
  const bool done = wait_until(signal, 0);
  HSA(hsa_signal_destroy(signal));
  return done;
}

// host `in` -> from -> to -> host `out`, compared byte by byte including what surrounds the target.
void round_trip(const Place& host_in, const Place& host_out, const Place& from, const Place& to) {
  struct Shape {
    size_t size, from_offset, to_offset;
  };
  const Shape shapes[] = {{1, 0, 0},         {3, 1, 2},       {4, 0, 0},
                          {63, 5, 9},        {4096, 0, 0},    {4097, 3, 1},
                          {65536 + 7, 1, 3}, {1 << 20, 0, 0}, {kBytes - 64, 13, 29}};
  bool right = true;
  uint32_t seed = 1;
  for (const Shape& shape : shapes) {
    fill_host(host_in.memory, kBytes, ++seed);
    std::memset(host_out.memory, 0xee, kBytes);
    right = right && copy_and_wait(from, 0, host_in, 0, kBytes);
    right = right && copy_and_wait(to, 0, host_out, 0, kBytes);
    right = right && copy_and_wait(to, shape.to_offset, from, shape.from_offset, shape.size);
    right = right && copy_and_wait(host_out, 0, to, 0, kBytes);
    for (size_t i = 0; i < kBytes && right; ++i) {
      const bool inside = i >= shape.to_offset && i < shape.to_offset + shape.size;
      const uint8_t expected =
          inside ? byte_at(i - shape.to_offset + shape.from_offset, seed) : 0xee;
      if (host_out.memory[i] != expected) {
        right = check(false, "%s -> %s, %zu bytes: byte %zu is %u, not %u", from.name, to.name,
                      shape.size, i, host_out.memory[i], expected);
      }
    }
  }
  check(right, "copies %s -> %s", from.name, to.name);
}

// A copy starts only after its dependencies.
void dependencies(const Place& host, const Place& vram) {
  const hsa_signal_t gate = make_signal(1);
  const hsa_signal_t first = make_signal(1);
  const hsa_signal_t second = make_signal(1);
  fill_host(host.memory, 4096, 77);
  HSA(hsa_amd_memory_async_copy(vram.memory, vram.agent, host.memory, host.agent, 4096, 1, &gate,
                                first));
  HSA(hsa_amd_memory_async_copy(host.memory + 8192, host.agent, vram.memory, vram.agent, 4096, 1,
                                &first, second));
  check(hsa_signal_wait_scacquire(second, HSA_SIGNAL_CONDITION_EQ, 0, 2'000'000,
                                  HSA_WAIT_STATE_BLOCKED) == 1,
        "a copy waits for its dependency");
  hsa_signal_store_screlease(gate, 0);
  check(wait_until(second, 0) && std::memcmp(host.memory, host.memory + 8192, 4096) == 0,
        "and then runs in order");
  for (const hsa_signal_t signal : {gate, first, second}) HSA(hsa_signal_destroy(signal));
}

void rectangles(const Place& host, const Place& vram, hsa_agent_t gpu) {
  // 3 slices of 7 rows of 50 bytes out of a larger box, into a box with other pitches.
  constexpr uint32_t kPitch = 128, kSlice = 128 * 16, kToPitch = 96, kToSlice = 96 * 12;
  fill_host(host.memory, kBytes, 5);
  std::memset(host.memory + (1 << 20), 0, 1 << 20);
  if (!copy_and_wait(vram, 0, host, 0, 1 << 20)) check(false, "setting up the rectangle");
  hsa_pitched_ptr_t from{vram.memory, kPitch, kSlice};
  hsa_pitched_ptr_t to{host.memory + (1 << 20), kToPitch, kToSlice};
  const hsa_dim3_t from_offset{20, 3, 1};
  const hsa_dim3_t to_offset{8, 2, 0};
  const hsa_dim3_t range{50, 7, 3};
  const hsa_signal_t signal = make_signal(1);
  const hsa_status_t status = hsa_amd_memory_async_copy_rect(
      &to, &to_offset, &from, &from_offset, &range, gpu, hsaDeviceToHost, 0, nullptr, signal);
  const char* sdma = std::getenv("HSA_ENABLE_SDMA");
  if (sdma != nullptr && std::strcmp(sdma, "0") == 0) {
    check(status == HSA_STATUS_ERROR_OUT_OF_RESOURCES, "ROCr has no rectangles without SDMA");
    HSA(hsa_signal_destroy(signal));
    return;
  }
  HSA(status);
  bool right = wait_until(signal, 0);
  for (uint32_t z = 0; z < range.z; ++z) {
    for (uint32_t y = 0; y < range.y; ++y) {
      const size_t source = (z + 1) * kSlice + (y + 3) * kPitch + 20;
      const size_t target = (1 << 20) + z * kToSlice + (y + 2) * kToPitch + 8;
      for (uint32_t x = 0; x < range.x; ++x)
        right = right && host.memory[target + x] == byte_at(source + x, 5);
      right = right && host.memory[target - 1] == 0 && host.memory[target + range.x] == 0;
    }
  }
  check(right, "3-D rectangle with offsets and pitches");
  HSA(hsa_signal_destroy(signal));
}

void fills(const Place& host, const Place& vram) {
  auto* words = reinterpret_cast<uint32_t*>(vram.memory);
  bool right = true;
  for (const size_t count : {size_t{1}, size_t{3}, size_t{1000}, size_t{300'001}}) {
    std::memset(host.memory, 0, kBytes);
    right = right && copy_and_wait(vram, 0, host, 0, kBytes);
    HSA(hsa_amd_memory_fill(words + 1, 0xdeadbeef, count));
    right = right && copy_and_wait(host, 0, vram, 0, kBytes);
    const auto* result = reinterpret_cast<const uint32_t*>(host.memory);
    for (size_t i = 0; i < count && right; ++i) right = result[i + 1] == 0xdeadbeef;
    right = right && result[0] == 0 && result[count + 1] == 0;
  }
  check(right, "fills of 1 to 300001 words");
}

void many_at_once(const Place& host, const Place& vram) {
  constexpr int kCopies = 500;
  fill_host(host.memory, kBytes, 9);
  const hsa_signal_t up = make_signal(kCopies);
  const hsa_signal_t down = make_signal(kCopies);
  const size_t part = kBytes / 2 / kCopies;
  for (int i = 0; i < kCopies; ++i) {
    HSA(hsa_amd_memory_async_copy(vram.memory + i * part, vram.agent, host.memory + i * part,
                                  host.agent, part, 0, nullptr, up));
  }
  bool right = wait_until(up, 0);
  for (int i = 0; i < kCopies; ++i) {
    HSA(hsa_amd_memory_async_copy(host.memory + kBytes / 2 + i * part, host.agent,
                                  vram.memory + i * part, vram.agent, part, 0, nullptr, down));
  }
  right = right && wait_until(down, 0) &&
          std::memcmp(host.memory, host.memory + kBytes / 2, part * kCopies) == 0;
  check(right, "%d copies in flight in each direction", kCopies);
  HSA(hsa_signal_destroy(up));
  HSA(hsa_signal_destroy(down));
}

}  // namespace

int main() {
  const Machine machine = start();
  const Place in{"host", machine.cpu.agent, machine.allocate_host<uint8_t>(kBytes)};
  const Place out{"host", machine.cpu.agent, machine.allocate_host<uint8_t>(kBytes)};
  const Place host{"host", machine.cpu.agent, machine.allocate_host<uint8_t>(kBytes)};
  std::vector<Place> vram;
  for (const Agent& gpu : machine.gpus) {
    auto* memory = allocate_vram<uint8_t>(gpu, kBytes);
    machine.allow_all(memory);
    vram.push_back({gpu.name.c_str(), gpu.agent, memory});
  }
  for (size_t i = 0; i < vram.size(); ++i) {
    const Place second{vram[i].name, vram[i].agent,
                       allocate_vram<uint8_t>(machine.gpus[i], kBytes)};
    round_trip(in, out, host, vram[i]);
    round_trip(in, out, vram[i], host);
    round_trip(in, out, vram[i], second);
    for (size_t j = 0; j < vram.size(); ++j) {
      if (j != i) round_trip(in, out, vram[i], vram[j]);
    }
    dependencies(host, vram[i]);
    rectangles(host, vram[i], vram[i].agent);
    fills(host, vram[i]);
    many_at_once(host, vram[i]);
  }
  HSA(hsa_shut_down());
  return finish();
}
