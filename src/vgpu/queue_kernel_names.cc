#include "vgpu/queue_kernel_names.h"

#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "amd/kernel_descriptor.h"
#include "base/sys_files.h"
#include "codeobj/code_object.h"
#include "codeobj/elf.h"
#include "codeobj/parameter_names.h"
#include "vgpu/guard.h"

namespace wavetap::vgpu {
namespace {

constexpr size_t kMostCodeObjects = 100'000;
constexpr size_t kMapsLimit = 64u << 20;
constexpr uint64_t kMostImageBytes = uint64_t{4} << 30;

// A file mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = sys::open(path.c_str(), O_RDONLY);
    if (fd < 0) return;
    struct stat st {};
    if (sys::fstat(fd, &st) == 0 && st.st_size > 0) {
      size_ = static_cast<size_t>(st.st_size);
      data_ = sys::map(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    sys::close(fd);
  }
  ~MappedFile() {
#ifndef WT_SANITIZE_THREAD  // which does not see that the address is free, and takes its next owner for a racing one
    if (data_ != nullptr) sys::unmap(data_, size_);
#endif
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const {
    return data_ == nullptr ? std::span<const std::byte>{}
                            : std::span<const std::byte>{data_, size_};
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Copies from our own process without trusting the pointer.
bool peek(uint64_t address, void* bytes, size_t size) {
  uint64_t fault = 0;
  return address != 0 &&
         guarded([=] { std::memcpy(bytes, reinterpret_cast<const void*>(address), size); }, &fault);
}

std::string peek_string(uint64_t address) {
  std::string text;
  char c = 0;
  while (text.size() < 8192 && peek(address + text.size(), &c, 1) && c != '\0') text.push_back(c);
  return text;
}

// Addresses of `_amdgpu_r_debug` in every HSA runtime the process has loaded: usually one.
std::vector<uint64_t> find_runtime_lists() {
  std::vector<uint64_t> lists;
  const std::optional<std::string> maps = sys::read_file("/proc/self/maps", kMapsLimit);
  if (!maps) return lists;
  for (const LoadedRuntime& runtime : loaded_runtimes(*maps)) {
    const MappedFile file(runtime.path);
    const std::optional<codeobj::ElfView> elf = codeobj::ElfView::open(file.bytes());
    if (!elf) continue;
    for (const codeobj::ElfSymbol& symbol : elf->symbols()) {
      if (symbol.name == "_amdgpu_r_debug" && symbol.section != 0) {
        lists.push_back(runtime.base + symbol.value);
        break;
      }
    }
  }
  return lists;
}

struct LoadedObject {
  uint64_t delta = 0;  // loaded address - linked address
  std::string uri;
};

std::vector<LoadedObject> loaded_objects() {
  std::vector<LoadedObject> objects;
  for (const uint64_t list : find_runtime_lists()) {
    r_debug head{};
    if (!peek(list, &head, sizeof head)) continue;
    auto next = reinterpret_cast<uint64_t>(head.r_map);
    while (next != 0 && objects.size() < kMostCodeObjects) {
      link_map entry{};
      if (!peek(next, &entry, sizeof entry)) break;
      objects.push_back({entry.l_addr, peek_string(reinterpret_cast<uint64_t>(entry.l_name))});
      next = reinterpret_cast<uint64_t>(entry.l_next);
    }
  }
  return objects;
}

std::vector<std::byte> image_of(const std::string& uri_text) {
  const std::optional<CodeObjectUri> uri = parse_code_object_uri(uri_text);
  if (!uri || uri->size_bytes > kMostImageBytes) return {};
  if (uri->in_memory) {
    if (uri->pid != static_cast<uint64_t>(sys::pid())) return {};
    std::vector<std::byte> image(uri->size_bytes);
    if (!peek(uri->offset, image.data(), image.size())) return {};
    return image;
  }
  const MappedFile file(uri->path);
  std::span<const std::byte> bytes = file.bytes();
  if (uri->offset > bytes.size()) return {};
  bytes = bytes.subspan(uri->offset);
  if (uri->size_bytes != 0 && uri->size_bytes < bytes.size()) bytes = bytes.first(uri->size_bytes);
  return {bytes.begin(), bytes.end()};
}

using SourceMapPtr = std::shared_ptr<const codeobj::SourceMap>;

// HIP's compilers leave the names out of the kernel's description; debug information has them.
std::vector<codeobj::KernelArg> named_args(const codeobj::CodeObject& code,
                                           const codeobj::Kernel& kernel) {
  std::vector<codeobj::KernelArg> args = kernel.args;
  const auto is_hidden = [](const codeobj::KernelArg& arg) { return arg.is_hidden(); };
  const std::vector<std::string> names = codeobj::parameter_names(code.elf(), kernel.entry_address);
  const auto hidden = std::count_if(args.begin(), args.end(), is_hidden);
  if (std::ssize(names) != std::ssize(args) - hidden) return args;
  auto name = names.begin();
  for (codeobj::KernelArg& arg : args) {
    if (arg.is_hidden()) continue;
    if (arg.name.empty()) arg.name = *name;
    ++name;
  }
  return args;
}

// Fills in `place` when the kernel is one of the object's, and *source unless that is known.
bool look_in(const LoadedObject& object, GpuAddr kernel_object, KernelPlace* place,
             SourceMapPtr* source) {
  const std::vector<std::byte> image = image_of(object.uri);
  Result<codeobj::CodeObject> code = codeobj::CodeObject::open(image);
  if (!code.ok()) return false;
  const uint64_t linked = kernel_object.value - object.delta;
  for (const codeobj::Kernel& kernel : code->kernels()) {
    if (kernel.descriptor_address != linked) continue;
    place->found = true;
    place->name = codeobj::demangle(kernel.name);
    place->args = named_args(*code, kernel);
    place->library = library_of(object.uri);
    if (*source == nullptr) *source = std::make_shared<codeobj::SourceMap>(code->elf());
    return true;
  }
  return false;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      decoded.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

bool parse_number(std::string_view text, uint64_t* value) {
  const std::string copy(text);
  if (copy.empty() || copy[0] == '-') return false;
  char* end = nullptr;
  *value = std::strtoull(copy.c_str(), &end, 0);
  return *end == '\0';
}

// The file that is mapped at an address of this process; "": none.
std::string mapped_file(uint64_t address) {
  const std::optional<std::string> maps = sys::read_file("/proc/self/maps", kMapsLimit);
  if (!maps) return "";
  for (size_t begin = 0; begin < maps->size();) {
    const size_t end = std::min(maps->find('\n', begin), maps->size());
    const std::string line = maps->substr(begin, end - begin);
    begin = end + 1;
    unsigned long long from = 0, to = 0;
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %*s %*s %*s %n", &from, &to, &path_at) < 2 ||
        address < from || address >= to || path_at <= 0) {
      continue;
    }
    const std::string path = line.substr(std::min(static_cast<size_t>(path_at), line.size()));
    return path.starts_with('/') ? path : "";
  }
  return "";
}

}  // namespace

std::string library_of(std::string_view uri_text) {
  const std::optional<CodeObjectUri> uri = parse_code_object_uri(uri_text);
  if (!uri) return "";
  return uri->in_memory ? mapped_file(uri->offset) : uri->path;
}

std::optional<CodeObjectUri> parse_code_object_uri(std::string_view text) {
  constexpr std::string_view kFile = "file://";
  constexpr std::string_view kMemory = "memory://";
  CodeObjectUri uri;
  uri.in_memory = text.starts_with(kMemory);
  if (!uri.in_memory && !text.starts_with(kFile)) return std::nullopt;
  text.remove_prefix(uri.in_memory ? kMemory.size() : kFile.size());

  std::string_view range;
  const size_t range_at = text.find_first_of("#?");
  if (range_at != std::string_view::npos) {
    range = text.substr(range_at + 1);
    text = text.substr(0, range_at);
  }
  if (uri.in_memory) {
    if (!parse_number(text, &uri.pid)) return std::nullopt;
  } else {
    uri.path = percent_decode(text);
  }
  while (!range.empty()) {
    const size_t end = std::min(range.find('&'), range.size());
    const std::string_view field = range.substr(0, end);
    range.remove_prefix(std::min(end + 1, range.size()));
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    uint64_t value = 0;
    if (!parse_number(field.substr(equals + 1), &value)) return std::nullopt;
    if (field.substr(0, equals) == "offset") uri.offset = value;
    if (field.substr(0, equals) == "size") uri.size_bytes = value;
  }
  if (uri.in_memory && uri.size_bytes == 0) return std::nullopt;
  return uri;
}

std::vector<LoadedRuntime> loaded_runtimes(std::string_view maps) {
  std::vector<LoadedRuntime> runtimes;
  LoadedRuntime first;  // pages that begin a file, until executable ones of it follow
  for (size_t begin = 0; begin < maps.size();) {
    const size_t end = std::min(maps.find('\n', begin), maps.size());
    const std::string line(maps.substr(begin, end - begin));
    begin = end + 1;
    unsigned long long base = 0;
    unsigned long long offset = 0;
    char rights[5] = {};
    int path_at = 0;
    if (line.find("libhsa-runtime64") == std::string::npos ||
        std::sscanf(line.c_str(), "%llx-%*x %4s %llx %*s %*s %n", &base, rights, &offset,
                    &path_at) < 3 ||
        path_at <= 0) {
      continue;
    }
    const std::string path = line.substr(static_cast<size_t>(path_at));
    if (offset == 0) first = {base, path};
    if (rights[2] != 'x' || first.path != path) continue;
    runtimes.push_back(std::exchange(first, {}));
  }
  return runtimes;
}

void for_each_code_object(const std::function<bool(uint64_t delta)>& wanted,
                          const std::function<void(const LoadedCodeObject&)>& visit) {
  for (LoadedObject& object : loaded_objects()) {
    if (!wanted(object.delta)) continue;
    std::vector<std::byte> image = image_of(object.uri);
    visit({object.delta, std::move(object.uri), std::move(image)});
  }
}

KernelPlace find_kernel(Gpu& gpu, GuestMemory& memory, GpuAddr kernel_object, GpuAddr pc) {
  return KernelFinder().find(gpu, memory, kernel_object, pc);
}

KernelPlace KernelFinder::find(Gpu&, GuestMemory& memory, GpuAddr kernel_object, GpuAddr pc) {
  const std::lock_guard lock(mutex_);
  const auto with_frames = [pc](const Known& known) {
    KernelPlace place = known.place;
    place.frames = known.source->frames(pc.value - known.delta);
    return place;
  };
  if (const auto known = kernels_.find(kernel_object.value); known != kernels_.end())
    return with_frames(known->second);
  KernelPlace place;
  amd::KernelDescriptor descriptor;
  if (memory.read(kernel_object, &descriptor, sizeof descriptor)) {
    place.entry = kernel_object + static_cast<uint64_t>(descriptor.entry_offset);
    place.has_entry = true;
  }
  std::vector<LoadedObject> objects = loaded_objects();
  std::erase_if(objects,
                [&](const LoadedObject& object) { return object.delta > kernel_object.value; });
  // The nearest one below holds it; the others are tried for objects linked at unusual addresses.
  std::sort(objects.begin(), objects.end(),
            [](const LoadedObject& a, const LoadedObject& b) { return a.delta > b.delta; });
  if (objects.size() > 8) objects.resize(8);
  for (const LoadedObject& object : objects) {
    const auto source = sources_.find(object.delta);
    SourceMapPtr map = source == sources_.end() ? nullptr : source->second;
    if (!look_in(object, kernel_object, &place, &map)) continue;
    sources_[object.delta] = map;
    return with_frames(kernels_[kernel_object.value] = {place, object.delta, map});
  }
  return place;
}

}  // namespace wavetap::vgpu
