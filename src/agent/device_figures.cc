#include "agent/device_figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string_view>

#include "agent/real_functions.h"

extern char** environ;

namespace wavetap::agent {

constinit std::atomic<bool> g_hip_was_called{false};

namespace {

using format::DeviceFact;
using format::DeviceLayer;

constexpr uint32_t kMaxNodes = 256;
constexpr uint32_t kMaxBanks = 8;
constexpr int kMaxHipDevices = 64;

// Variables that change what a layer says, or which GPUs it shows.
constexpr const char* kVariables[] = {
    "HSA_OVERRIDE_GFX_VERSION", "GPU_ENABLE_WGP_MODE", "HSA_CU_MASK",
    "ROCR_VISIBLE_DEVICES",     "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "CUDA_VISIBLE_DEVICES",
};

// Text that grows up to its room; what does not fit is left out at a line's end.
class Lines {
 public:
  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text_ + size_, sizeof text_ - size_, format, arguments);
    va_end(arguments);
    if (length > 0 && static_cast<size_t>(length) < sizeof text_ - size_)
      size_ += static_cast<size_t>(length);
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[6 << 10];
  size_t size_ = 0;
};

// Through libc, not sys.h: virtual GPUs have their files answered there, as the driver's own
// library reads them.
size_t read_text(const char* path, char* out, size_t size) {
  const int error = errno;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t count = 0;
  size_t length = 0;
  while (fd >= 0 && length + 1 < size && (count = read(fd, out + length, size - 1 - length)) > 0)
    length += static_cast<size_t>(count);
  if (fd >= 0) close(fd);
  out[length] = '\0';
  errno = error;
  return length;
}

// Calls visit(line) for each, without its end.
template <class Visit>
void for_each_line(const char* text, Visit visit) {
  while (*text != '\0') {
    const char* const end = strchrnul(text, '\n');
    visit(std::string_view(text, static_cast<size_t>(end - text)));
    text = *end == '\0' ? end : end + 1;
  }
}

uint64_t number_of(const char* text, std::string_view name) {
  uint64_t value = 0;
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ')
      value = strtoull(line.data() + name.size() + 1, nullptr, 10);
  });
  return value;
}

void write_figures(DeviceLayer layer, uint32_t number, uint32_t bdf, std::string_view figures,
                   std::string_view told = {}) {
  DeviceFact device{};
  device.time = ticks();
  device.number = number;
  device.bdf = bdf;
  fact(device, format::Kind::kDevice, static_cast<uint8_t>(layer), {figures, told});
}

void write_node(uint32_t node, const char* properties) {
  Lines lines;
  for_each_line(properties, [&](std::string_view line) {
    lines.add("%.*s\n", static_cast<int>(line.size()), line.data());
  });
  char path[128], text[1024];
  const uint64_t banks = number_of(properties, "mem_banks_count");
  for (uint32_t bank = 0; bank < banks && bank < kMaxBanks; ++bank) {
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%u/mem_banks/%u/properties",
             node, bank);
    read_text(path, text, sizeof text);
    for_each_line(text, [&](std::string_view line) {
      lines.add("mem_banks/%u/%.*s\n", bank, static_cast<int>(line.size()), line.data());
    });
  }
  const auto domain = static_cast<uint32_t>(number_of(properties, "domain"));
  const auto location = static_cast<uint32_t>(number_of(properties, "location_id")) & 0xffff;
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/revision", domain,
           location >> 8, location >> 3 & 0x1f, location & 7);
  if (read_text(path, text, sizeof text) != 0)
    lines.add("revision %lu\n", strtoul(text, nullptr, 0));
  write_figures(DeviceLayer::kDriver, node, domain << 16 | location, lines.view());
}

bool changes_figures(const char* variable) {
  for (const char* const name : kVariables) {
    const size_t length = strlen(name);
    // HSA_OVERRIDE_GFX_VERSION_<node> as well.
    if (strncmp(variable, name, length) == 0 &&
        (variable[length] == '=' || variable[length] == '_'))
      return true;
  }
  return false;
}

void write_environment() {
  Lines lines;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const char* const equals = strchr(*variable, '=');
    if (equals == nullptr || !changes_figures(*variable) || strchr(*variable, '\n') != nullptr)
      continue;
    lines.add("%.*s %s\n", static_cast<int>(equals - *variable), *variable, equals + 1);
  }
  if (!lines.view().empty()) write_figures(DeviceLayer::kEnvironment, 0, 0, lines.view());
}

// ---- HIP ---------------------------------------------------------------------------------------

// What HIP said of each device, once.
struct HipDevice {
  enum : uint32_t { kEmpty, kClaimed, kKnown };
  std::atomic<uint32_t> state;
  uint32_t bdf;
  char figures[1024];
};
constinit HipDevice g_hip[kMaxHipDevices] = {};

void write_hip_device(int device) {
  write_figures(DeviceLayer::kHip, static_cast<uint32_t>(device), g_hip[device].bdf,
                g_hip[device].figures);
}

void write_known_hip_devices() {
  for (int i = 0; i < kMaxHipDevices; ++i)
    if (g_hip[i].state.load(std::memory_order_acquire) == HipDevice::kKnown) write_hip_device(i);
}

enum : uint32_t { kNotWanted, kWanted, kAsking, kAsked };
constinit std::atomic<uint32_t> g_asking{kNotWanted};
constinit std::atomic<uint32_t> g_asking_in{0};  // the process; its child has no thread that asks

void ask_each_device() {
  const auto find = [](const char* symbol) {
    return find_real(symbol, Provider::kHip, nullptr).function;
  };
  const auto count_devices = reinterpret_cast<int (*)(int*)>(find("hipGetDeviceCount"));
  const auto get_new = reinterpret_cast<int (*)(void*, int)>(find("hipGetDevicePropertiesR0600"));
  const auto get_old = reinterpret_cast<int (*)(void*, int)>(find("hipGetDeviceProperties"));
  const auto get = get_new != nullptr ? get_new : get_old;
  int count = 0;
  if (count_devices == nullptr || get == nullptr || count_devices(&count) != 0) return;
  for (int device = 0; device < count && device < kMaxHipDevices; ++device) {
    if (g_hip[device].state.load(std::memory_order_relaxed) != HipDevice::kEmpty) continue;
    char properties[amd::kHipPropertiesBytes] = {};
    if (get(properties, device) != 0) continue;
    note_hip_figures(get_new != nullptr ? amd::kHipPropertiesR0600 : amd::kHipPropertiesR0000,
                     properties, device);
  }
}

// On the helper thread: on the program's own, the call would change what hipGetLastError() says.
bool ask_hip() {
  uint32_t wanted = kWanted;
  if (!g_asking.compare_exchange_strong(wanted, kAsking, std::memory_order_relaxed)) return false;
  sys::futex_wake(&g_asking, 1);
  ask_each_device();
  g_asking.store(kAsked, std::memory_order_release);
  sys::futex_wake(&g_asking, 1);
  return false;
}

// Runs at exit before HIP takes itself down, because it was registered after HIP had come up: from
// here on HIP is not asked any more.
void leave_hip_alone() {
  if (g_asking_in.load(std::memory_order_relaxed) != sys::pid()) return;
  constexpr int64_t kPatienceNs = 200'000'000;
  for (const uint32_t state : {kWanted, kAsking}) {
    if (g_asking.load(std::memory_order_acquire) == state)
      sys::futex_wait(&g_asking, state, kPatienceNs);
  }
  uint32_t wanted = kWanted;
  g_asking.compare_exchange_strong(wanted, kAsked, std::memory_order_relaxed);
}

}  // namespace

void write_driver_figures() {
  char path[128], properties[4096];
  for (uint32_t node = 0; node < kMaxNodes; ++node) {
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%u/properties", node);
    if (read_text(path, properties, sizeof properties) == 0) break;
    if (number_of(properties, "simd_count") != 0) write_node(node, properties);
  }
  write_environment();
}

void write_hsa_figures(const format::AgentFact& agent, uint64_t lds_bytes, uint64_t l2_bytes) {
  Lines lines;
  lines.add("lds_bytes %llu\nl2_bytes %llu\n", static_cast<unsigned long long>(lds_bytes),
            static_cast<unsigned long long>(l2_bytes));
  write_figures(DeviceLayer::kHsa, agent.number, agent.bdf, lines.view());
}

void note_hip_figures(const amd::HipPropertiesLayout& layout, const void* properties, int device) {
  if (device < 0 || device >= kMaxHipDevices || properties == nullptr) return;
  HipDevice& known = g_hip[device];
  uint32_t state = HipDevice::kEmpty;
  if (known.state.load(std::memory_order_relaxed) != state ||
      !known.state.compare_exchange_strong(state, HipDevice::kClaimed, std::memory_order_relaxed))
    return;
  const char* const at = static_cast<const char*>(properties);
  const auto word = [&](size_t offset) {
    uint32_t value;
    memcpy(&value, at + offset, sizeof value);
    return value;
  };
  const auto wide = [&](size_t offset) {
    unsigned long long value;
    memcpy(&value, at + offset, sizeof value);
    return value;
  };
  snprintf(
      known.figures, sizeof known.figures,
      "name %.255s\narch %.255s\nmultiprocessors %u\nclock_mhz %u\nwave_size %u\nlds_bytes %llu\n"
      "vram_bytes %llu\nl2_bytes %u\n",
      at, at + layout.arch, word(layout.multiprocessors), word(layout.clock_khz) / 1000,
      word(layout.wave_size), wide(layout.lds_bytes), wide(layout.vram_bytes),
      word(layout.l2_bytes));
  known.bdf = word(layout.pci_domain) << 16 | (word(layout.pci_bus) & 0xff) << 8 |
              (word(layout.pci_device) & 0x1f) << 3;
  known.state.store(HipDevice::kKnown, std::memory_order_release);
  add_fact_source(&write_known_hip_devices);
  write_hip_device(device);
}

void want_hip_figures() {
  uint32_t state = kNotWanted;
  if (!g_hip_was_called.load(std::memory_order_relaxed) ||
      !g_asking.compare_exchange_strong(state, kWanted, std::memory_order_relaxed))
    return;
  g_asking_in.store(sys::pid(), std::memory_order_relaxed);
  if (atexit(&leave_hip_alone) != 0) return;
  add_helper_work(&ask_hip);
  wake_helper();
}

void note_correction(const char* layer, int device, const char* pci, const char* field,
                     const char* before, const char* after) {
  ensure_started();
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function);
  Lines figures, told;
  figures.add("%s %s\n", field, before);
  told.add("%s %s\n", field, after);
  write_figures(strcmp(layer, "cuda") == 0 ? DeviceLayer::kCuda : DeviceLayer::kHip,
                static_cast<uint32_t>(device),
                domain << 16 | (bus & 0xff) << 8 | (slot & 0x1f) << 3 | (function & 7),
                figures.view(), told.view());
}

}  // namespace wavetap::agent
