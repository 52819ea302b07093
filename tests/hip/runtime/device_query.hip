// Device properties equal the model the device was made from. WT_MODEL_FILE names the model file;
// without it only the properties' agreement with each other is checked.
#include <map>

#include "check.h"

// "key = value  # comment" lines.
std::map<std::string, std::string> read_model(const char* path) {
  std::map<std::string, std::string> values;
  FILE* file = std::fopen(path, "r");
  if (file == nullptr) return values;
  char line[512];
  const auto trim = [](std::string text) {
    const size_t first = text.find_first_not_of(" \t\n");
    return first == std::string::npos
               ? std::string()
               : text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
  };
  while (std::fgets(line, sizeof line, file) != nullptr) {
    std::string text = line;
    text = text.substr(0, text.find('#'));
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      values[trim(text.substr(0, equals))] = trim(text.substr(equals + 1));
  }
  std::fclose(file);
  return values;
}

int attribute(hipDeviceAttribute_t which) {
  int value = -1;
  WT_HIP(hipDeviceGetAttribute(&value, which, 0));
  return value;
}

void check_against_model(const hipDeviceProp_t& p,
                         const std::map<std::string, std::string>& model) {
  const auto number = [&](const char* key) {
    return std::strtoll(model.at(key).c_str(), nullptr, 0);
  };
  const std::string arch = p.gcnArchName;
  const std::string target = model.at("target");
  check::expect(arch == target || arch.rfind(target + ":", 0) == 0, "gcnArchName %s is %s",
                p.gcnArchName, target.c_str());
  check::expect(p.name == model.at("marketing_name"), "name is \"%s\"", p.name);
  // From gfx10 on HIP counts workgroup processors, which are pairs of compute units.
  const bool pairs = target.rfind("gfx10", 0) == 0 || target.rfind("gfx11", 0) == 0;
  check::equal("multiProcessorCount", static_cast<long long>(p.multiProcessorCount),
               number("compute_units") / (pairs ? 2 : 1));
  check::equal("totalGlobalMem", static_cast<long long>(p.totalGlobalMem),
               number("vram.mib") << 20);
  check::equal("clockRate", static_cast<long long>(p.clockRate), number("engine_clock_mhz") * 1000);
  check::equal("memoryClockRate", static_cast<long long>(p.memoryClockRate),
               number("vram.clock_mhz") * 1000);
  check::equal("memoryBusWidth", static_cast<long long>(p.memoryBusWidth),
               number("vram.width_bits"));
  check::equal("warpSize", static_cast<long long>(p.warpSize), number("wave_size"));
  check::equal("sharedMemPerBlock", static_cast<long long>(p.sharedMemPerBlock),
               number("lds_kib") * 1024);
  check::equal("l2CacheSize", static_cast<long long>(p.l2CacheSize), number("cache.l2_kib") * 1024);
}

int main() {
  int count = 0;
  WT_HIP(hipGetDeviceCount(&count));
  check::expect(count >= 1, "%d devices", count);
  const hipDeviceProp_t p = check::properties();
  const char* model_file = std::getenv("WT_MODEL_FILE");
  if (model_file != nullptr) {
    const std::map<std::string, std::string> model = read_model(model_file);
    if (!check::expect(!model.empty(), "read %s", model_file)) return check::finish();
    check_against_model(p, model);
  }

  check::equal("maxThreadsPerBlock", p.maxThreadsPerBlock, 1024);
  check::equal("maxThreadsDim", std::vector<int>(p.maxThreadsDim, p.maxThreadsDim + 3),
               std::vector<int>{1024, 1024, 1024});
  check::expect(p.maxThreadsPerMultiProcessor >= 1024, "maxThreadsPerMultiProcessor is %d",
                p.maxThreadsPerMultiProcessor);
  check::equal("attribute: multiprocessors", attribute(hipDeviceAttributeMultiprocessorCount),
               p.multiProcessorCount);
  check::equal("attribute: wave size", attribute(hipDeviceAttributeWarpSize), p.warpSize);
  check::equal("attribute: LDS", attribute(hipDeviceAttributeMaxSharedMemoryPerBlock),
               static_cast<int>(p.sharedMemPerBlock));
  check::equal("attribute: clock", attribute(hipDeviceAttributeClockRate), p.clockRate);
  check::equal("attribute: L2", attribute(hipDeviceAttributeL2CacheSize), p.l2CacheSize);

  char name[256];
  WT_HIP(hipDeviceGetName(name, sizeof name, 0));
  check::expect(std::strcmp(name, p.name) == 0, "hipDeviceGetName agrees: %s", name);
  size_t total = 0;
  WT_HIP(hipDeviceTotalMem(&total, 0));
  check::equal("hipDeviceTotalMem", total, p.totalGlobalMem);
  char bus[32];
  WT_HIP(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
  int found = -1;
  WT_HIP(hipDeviceGetByPCIBusId(&found, bus));
  check::expect(found == 0, "device 0 is found again by its PCI address %s", bus);
  int driver = 0, runtime = 0;
  WT_HIP(hipDriverGetVersion(&driver));
  WT_HIP(hipRuntimeGetVersion(&runtime));
  check::expect(driver > 0 && runtime > 0, "driver version %d, runtime version %d", driver,
                runtime);
  return check::finish();
}
