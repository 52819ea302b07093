#include "agent/probe_kernels.h"

#include <algorithm>
#include <new>

#include "agent/hsa_facts.h"
#include "agent/hsa_table.h"
#include "base/sys_files.h"
#include "codeobj/elf.h"
#include "format/site_table.h"

namespace wavetap::agent {
namespace {

struct Symbol {
  std::string name;
  uint64_t object = 0;
};

HsaStatus collect_symbol(uint64_t, uint64_t, uint64_t symbol, void* data) {
  const auto get = hsa().hsa_executable_symbol_get_info;
  uint32_t type = 0, length = 0;
  if (get(symbol, kSymbolType, &type) != kHsaSuccess || type != kSymbolKindKernel)
    return kHsaSuccess;
  Symbol found;
  get(symbol, kSymbolNameLength, &length);
  found.name.resize(length);
  get(symbol, kSymbolName, found.name.data());
  if (found.name.ends_with(".kd")) found.name.resize(found.name.size() - 3);
  get(symbol, kSymbolKernelObject, &found.object);
  static_cast<std::vector<Symbol>*>(data)->push_back(std::move(found));
  return kHsaSuccess;
}

// A code object's bytes, wherever the runtime has them.
class Bytes {
 public:
  explicit Bytes(const LoadedCodeObject& object) {
    const void* bytes = object.memory;
    size_ = object.bytes;
    if (bytes == nullptr && object.file >= 0) {
      struct stat status {};
      if (sys::fstat(object.file, &status) != 0) return;
      size_ = static_cast<uint64_t>(status.st_size);
      bytes = mapped_ = wavetap::sys::map(nullptr, size_, PROT_READ, MAP_PRIVATE, object.file, 0);
    }
    bytes_ = static_cast<const std::byte*>(bytes);
  }
  ~Bytes() {
    if (mapped_ != nullptr) wavetap::sys::unmap(mapped_, size_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> get() const {
    return bytes_ == nullptr ? std::span<const std::byte>() : std::span(bytes_, size_);
  }

 private:
  const std::byte* bytes_ = nullptr;
  std::byte* mapped_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace

struct ProbeKernels::Frozen {
  ProbeKernels& kernels;
  uint64_t executable;
  uint64_t agent;
  uint32_t gpu;
  std::vector<Symbol> symbols;

  uint64_t object_of(const std::string& name) const {
    for (const Symbol& symbol : symbols)
      if (symbol.name == name) return symbol.object;
    return 0;
  }
  bool has_twins() const {
    return std::any_of(symbols.begin(), symbols.end(), [](const Symbol& symbol) {
      return symbol.name.ends_with(format::kTwinSuffix);
    });
  }
};

namespace {

// How many sites a kernel's table has to have room for. An error: why it cannot be known.
Result<uint32_t> count_sites(const codeobj::CodeObject& object, const std::string& kernel) {
  const codeobj::ElfSection* const section = object.elf().section(format::kSiteSection);
  if (section == nullptr) return errorf("there is no site table");
  const auto tables = format::read_site_tables(
      {reinterpret_cast<const char*>(section->bytes.data()), section->bytes.size()});
  if (!tables.ok()) return tables.error();
  const auto found = tables->find(kernel);
  if (found == tables->end()) return errorf("its site table does not have it");
  return static_cast<uint32_t>(found->second.sites.size());
}

}  // namespace

ProbeKernels::ProbeKernels(const ProbeRequest& request, ProbeFiles& files, DeviceOf device_of)
    : request_(request), files_(files), device_of_(device_of) {
  has_pattern_ = !request.kernels.empty() &&
                 ::regcomp(&pattern_, request.kernels.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
}

bool ProbeKernels::matches(const std::string& name) const {
  const std::string shown = codeobj::demangle(name);
  if (has_pattern_) return ::regexec(&pattern_, shown.c_str(), 0, nullptr, 0) == 0;
  return !name.starts_with("__amd_rocclr_");
}

void ProbeKernels::refuse(Probed& probed, const std::string& why) {
  probed.is_refused = true;
  files_.refused(probed.name, why);
}

// Fills in the twin, if the kernel has one that fits.
void ProbeKernels::find_twin(const Frozen& frozen, const codeobj::CodeObject& object,
                             Probed& probed) {
  const std::string twin_name = probed.name + format::kTwinSuffix;
  const codeobj::Kernel* const original = object.find_kernel(probed.name);
  const codeobj::Kernel* const twin = object.find_kernel(twin_name);
  if (original == nullptr || twin == nullptr) return;
  const std::string why = plan_twin(object, *original, *twin, &probed.plan);
  if (!why.empty()) return refuse(probed, "its twin does not fit: " + why);
  if ((request_.wants & format::kProbeTable) != 0) {
    const Result<uint32_t> sites = count_sites(object, probed.name);
    if (!sites.ok()) return refuse(probed, "its twin does not fit: " + sites.error().message);
    probed.sites = *sites;
  }
  probed.device = device_of_(frozen.agent);
  if (probed.device == nullptr) return refuse(probed, "there is no memory for what it tells");
  probed.target = amd::to_string(object.target());
  probed.twin = frozen.object_of(twin_name);
}

void ProbeKernels::look_at(const Frozen& frozen, const codeobj::CodeObject* object,
                           std::span<const std::byte> image) {
  std::string file;
  for (const Symbol& symbol : frozen.symbols) {
    if (symbol.name.ends_with(format::kTwinSuffix) || !matches(symbol.name)) continue;
    if (map_.find(symbol.object) != nullptr) continue;
    // It may be of another code object of the executable.
    if (object != nullptr && object->find_kernel(symbol.name) == nullptr) continue;
    auto* const probed = new (std::nothrow) Probed;
    if (probed == nullptr) return count_loss(format::Loss::kNoMemory);
    probed->name = symbol.name;
    probed->executable = frozen.executable;
    probed->gpu = frozen.gpu;
    probed->launched = &launched_[symbol.name];
    if (object != nullptr) find_twin(frozen, *object, *probed);
    if (probed->twin != 0) {
      if (file.empty()) file = files_.keep_code(image);
      probed->code = file;
    }
    kernels_.push_back(probed);
    map_.set(symbol.object, probed);
  }
}

void ProbeKernels::add(uint64_t executable) {
  const Locked locked(lock_);
  for (uint32_t i = 0; gpu_agent(i) != 0; ++i) {
    Frozen frozen{*this, executable, gpu_agent(i), i, {}};
    hsa().hsa_executable_iterate_agent_symbols(
        executable, frozen.agent, reinterpret_cast<void*>(&collect_symbol), &frozen.symbols);
    if (frozen.symbols.empty()) continue;
    if (!frozen.has_twins()) {
      look_at(frozen, nullptr, {});
      continue;
    }
    visit_code_objects(
        executable,
        [](const LoadedCodeObject& where, void* data) {
          const auto& of = *static_cast<const Frozen*>(data);
          if (where.agent != of.agent) return;
          const Bytes bytes(where);
          const Result<codeobj::CodeObject> object = codeobj::CodeObject::open(bytes.get());
          of.kernels.look_at(of, object.ok() ? &*object : nullptr, bytes.get());
        },
        &frozen);
  }
}

void ProbeKernels::remove(uint64_t executable) {
  const Locked locked(lock_);
  std::erase_if(kernels_, [&](const Probed* probed) { return probed->executable == executable; });
  map_.remove_if([&](const Probed& probed) { return probed.executable == executable; });
}

void ProbeKernels::clear() {
  const Locked locked(lock_);
  map_.clear();
  kernels_.clear();
}

}  // namespace wavetap::agent
