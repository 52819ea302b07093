// Feeds the ioctl decoders arbitrary sequences of calls: numbers, sizes and arguments from the
// input, pointers sometimes good (into a scratch buffer) and sometimes not. Handles that calls
// return are fed back, so that sequences get past the first check. The driver must answer each
// call; a crash, a hang or an unbounded allocation is a bug.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "amd/drm_abi.h"
#include "base/byte_cursor.h"
#include "base/sys_files.h"
#include "vgpu/driver.h"
#include "vgpu/own_fds.h"

namespace {

using namespace wavetap;        // NOLINT
using namespace wavetap::vgpu;  // NOLINT

constexpr char kModel[] =
    "target = gfx90a\nmarketing_name = Fuzz\npci.device_id = 0x740f\ncompute_units = "
    "4\nshader_engines = 2\n"
    "cus_per_shader_array = 2\nsimds_per_cu = 4\nwave_size = 64\nvram.mib = 256\n";

Driver* the_driver() {
  static Driver* const driver = [] {
    Config config;
    config.models.push_back(*model::parse_model("fuzz", kModel));
    config.models.push_back(*model::parse_model("fuzz", kModel));
    config.svm = true;
    config.threads = 1;
    int error = 0;
    return Driver::create(config, "", &error);
  }();
  return driver;
}

// Eight bytes of an argument structure: as they come, or something the driver will recognise.
uint64_t word(ByteCursor& in, Driver& driver, std::span<std::byte> scratch,
              const std::vector<uint64_t>& handles) {
  const uint8_t kind = in.take<uint8_t>().value_or(0);
  const uint64_t raw = in.take<uint64_t>().value_or(0);
  const Gpu& gpu = *driver.gpus()[raw & 1];
  switch (kind % 10) {
    case 0: return raw;
    case 1: return reinterpret_cast<uint64_t>(scratch.data()) + raw % scratch.size();
    case 2: return handles.empty() ? 0 : handles[raw % handles.size()];
    case 3: return gpu.gpu_id;
    case 4: return static_cast<uint64_t>(gpu.gpu_id) << 32 | (raw & 0xff);
    case 5: return (raw & 0xff) << 12;
    case 6: return 0x4100000000 + ((raw & 0xffff) << 12);
    case 7:
      return gpu.gpu_id | (1ull << (32 + raw % 6)) |
             (raw & 0xe0000000'00000000);  // id, allocation flags
    case 8: return 1 | (raw & 3) << 32;    // count and a small number
    default: return raw & 0xff;
  }
}

// Three of four calls are ones that exist.
uint32_t call_number(ByteCursor& in, bool drm) {
  static constexpr uint8_t kKfd[] = {0x01, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x14, 0x16,
                                     0x16, 0x16, 0x17, 0x17, 0x18, 0x18, 0x19, 0x1a,
                                     0x1c, 0x1d, 0x1e, 0x20, 0x23, 0x24, 0x80, 0x81};
  static constexpr uint8_t kDrm[] = {0x00, 0x09, 0x2d, 0x2e, 0x40, 0x40,
                                     0x41, 0x45, 0x46, 0x48, 0x48, 0x50};
  const uint8_t choice = in.take<uint8_t>().value_or(0);
  if (choice % 4 == 0) return in.take<uint8_t>().value_or(0);
  return drm ? kDrm[choice / 4 % std::size(kDrm)] : kKfd[choice / 4 % std::size(kKfd)];
}

// Fills in a call the way user space does, so that it succeeds and later calls find something to
// name.
uint32_t make_plausible(uint32_t number, Driver& driver, std::span<std::byte> scratch,
                        const std::vector<uint64_t>& handles, uint64_t* args) {
  const uint64_t pick = args[0];
  const Gpu& gpu = *driver.gpus()[pick & 1];
  const uint64_t handle = handles.empty() ? 0 : handles[(pick >> 1) % handles.size()];
  switch (static_cast<amd::KfdIoctl>(number)) {
    case amd::KfdIoctl::kAllocMemory:
      args[0] = 0x4100000000 + ((pick >> 3 & 0xff) << 12);
      args[1] = ((pick >> 11 & 15) + 1) << 12;
      args[3] = reinterpret_cast<uint64_t>(scratch.data()) & ~0xfffull;
      args[4] = gpu.gpu_id | (0xe0000000ull | 1ull << (pick >> 15) % 5) << 32;
      return 5;
    case amd::KfdIoctl::kMapMemory:
    case amd::KfdIoctl::kUnmapMemory:
      std::memcpy(scratch.data(), &gpu.gpu_id, sizeof gpu.gpu_id);
      args[0] = handle;
      args[1] = reinterpret_cast<uint64_t>(scratch.data());
      args[2] = 1;
      return 3;
    case amd::KfdIoctl::kFreeMemory:
    case amd::KfdIoctl::kExportDmabuf:
    case amd::KfdIoctl::kIpcExportHandle: args[0] = handle; return 4;
    default: return 0;
  }
}

// Calls that sleep, or start threads that poll memory we are about to reuse, are not what is tested
// here.
bool is_skipped(uint32_t type, uint32_t number) {
  if (type != amd::kKfdIoctlType) return false;
  return number == static_cast<uint32_t>(amd::KfdIoctl::kWaitEvents) ||
         number == static_cast<uint32_t>(amd::KfdIoctl::kCreateQueue);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Driver* driver = the_driver();
  if (driver == nullptr) return 0;
  // Between inaccessible pages: the driver writes as far as a call says, and must stop there.
  static std::byte* const pages =
      sys::map(nullptr, 3 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static const int opened = ::mprotect(pages + (1 << 16), 1 << 16, PROT_READ | PROT_WRITE);
  if (pages == nullptr || opened != 0) return 0;
  const std::span<std::byte> scratch(pages + (1 << 16), 1 << 16);
  std::vector<uint64_t> handles;
  ByteCursor in({reinterpret_cast<const std::byte*>(data), size});
  while (in.size() >= 3) {
    const bool drm = (*in.take<uint8_t>() & 1) != 0;
    const uint32_t type = drm ? amd::kDrmIoctlType : amd::kKfdIoctlType;
    const uint32_t number = call_number(in, drm);
    const uint8_t shape = in.take<uint8_t>().value_or(0);
    uint32_t words = shape % 8;
    uint64_t args[64] = {};
    for (uint32_t i = 0; i < words; ++i) args[i] = word(in, *driver, scratch, handles);
    if (is_skipped(type, number)) continue;
    if (!drm && (shape & 0x80) != 0)
      words = std::max(words, make_plausible(number, *driver, scratch, handles, args));
    const uint32_t request = static_cast<uint32_t>(_IOC(3, type, number, words * 8));
    const uint64_t at = reinterpret_cast<uint64_t>(args);
    if (drm) drm_ioctl(*driver, *driver->gpus()[number & 1], request, at);
    else kfd_ioctl(*driver, request, at);
    if (handles.size() < 64) handles.insert(handles.end(), {args[0], args[1], args[2]});
  }
  // Exports gave us descriptors, which no structure names reliably: close what a program would
  // hold.
  for (int fd = 3; fd < 256; ++fd)
    if (!own_fds::contains(fd)) ::close(fd);
  return 0;
}
