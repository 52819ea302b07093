#include "store/kernel_code.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "store/call_text.h"
#include "util/file.h"

namespace wavetap::store {
namespace {

// "file:///usr/bin/app#offset=4096&size=8192", as the HSA loader names code objects.
struct FileUri {
  std::string path;
  uint64_t offset = 0;
  std::optional<uint64_t> size;
};

std::optional<uint64_t> number_behind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10).ec !=
      std::errc())
    return std::nullopt;
  return value;
}

std::optional<FileUri> parse_file_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const size_t end = uri.find_first_of("#?");
  FileUri out;
  const std::string_view path = uri.substr(0, end);
  for (size_t i = 0; i < path.size(); ++i) {
    unsigned value = 0;
    if (path[i] == '%' && i + 2 < path.size() &&
        std::from_chars(path.data() + i + 1, path.data() + i + 3, value, 16).ec == std::errc()) {
      out.path += static_cast<char>(value);
      i += 2;
    } else {
      out.path += path[i];
    }
  }
  if (end != std::string_view::npos) {
    out.offset = number_behind(uri.substr(end), "offset=").value_or(0);
    out.size = number_behind(uri.substr(end), "size=");
  }
  return out;
}

}  // namespace

const KernelCode::Loaded& KernelCode::load(uint32_t number) {
  const auto [at, added] = loaded_.try_emplace(number);
  Loaded& loaded = at->second;
  const auto found = facts_.code_objects.find(number);
  if (!added || found == facts_.code_objects.end()) return loaded;
  const RawCodeObject& object = found->second;
  // A name from the trace stays inside the session folder.
  if (!object.file.empty() && object.file.find('/') == std::string::npos) {
    Result<std::vector<std::byte>> bytes = util::read_file(folder_ + "/" + object.file);
    if (bytes.ok()) loaded.bytes = std::move(*bytes);
  } else if (const std::optional<FileUri> uri = parse_file_uri(object.uri)) {
    Result<std::vector<std::byte>> bytes = util::read_file(uri->path);
    if (bytes.ok() && uri->offset < bytes->size()) {
      const size_t size =
          std::min<uint64_t>(uri->size.value_or(bytes->size()), bytes->size() - uri->offset);
      loaded.bytes.assign(bytes->begin() + static_cast<std::ptrdiff_t>(uri->offset),
                          bytes->begin() + static_cast<std::ptrdiff_t>(uri->offset + size));
    }
  }
  if (loaded.bytes.empty()) return loaded;
  Result<codeobj::CodeObject> opened = codeobj::CodeObject::open(loaded.bytes);
  if (opened.ok()) loaded.object = std::make_unique<codeobj::CodeObject>(std::move(*opened));
  return loaded;
}

const codeobj::Kernel* KernelCode::find(const RawKernel& kernel) {
  const Loaded& loaded = load(kernel.fact.code_object);
  if (loaded.object == nullptr) return nullptr;
  for (const codeobj::Kernel& candidate : loaded.object->kernels())
    if (candidate.name == kernel.name) return &candidate;
  return nullptr;
}

std::string KernelCode::target(uint32_t code_object) {
  const Loaded& loaded = load(code_object);
  return loaded.object == nullptr ? "" : loaded.object->target_id();
}

std::string kernarg_text(const codeobj::Kernel* kernel, std::span<const std::byte> bytes) {
  std::string out;
  const auto value_at = [&](uint64_t offset, uint64_t size) {
    if (offset > bytes.size() || bytes.size() - offset < size) {
      out += "?";
      return;
    }
    uint64_t value = 0;
    if (size <= 8) {
      std::memcpy(&value, bytes.data() + offset, size);
      append_hex(out, value);
      return;
    }
    for (uint64_t i = 0; i < size && i < 32; i += 8) {
      std::memcpy(&value, bytes.data() + offset + i, std::min<uint64_t>(8, size - i));
      if (i > 0) out += ' ';
      append_hex(out, value);
    }
    if (size > 32) out += " …";
  };
  if (kernel == nullptr || !kernel->has_metadata) {
    for (size_t offset = 0; offset < bytes.size() && offset < 128; offset += 8) {
      if (offset > 0) out += " | ";
      out += fmt::format("{:#x}: ", offset);
      value_at(offset, std::min<size_t>(8, bytes.size() - offset));
    }
    return out;
  }
  size_t position = 0;
  for (const codeobj::KernelArg& arg : kernel->args) {
    if (arg.is_hidden()) continue;
    if (!out.empty()) out += " | ";
    out += arg.name.empty() ? fmt::format("arg{}", position) : arg.name;
    out += " = ";
    ++position;
    // A number is easier to read in decimal where its type says that it is one.
    const bool is_int = arg.type_name == "int" || arg.type_name == "uint" ||
                        arg.type_name == "unsigned int" || arg.type_name == "size_t" ||
                        arg.type_name == "long";
    if (is_int && arg.size_bytes <= 8 && arg.offset <= bytes.size() &&
        bytes.size() - arg.offset >= arg.size_bytes) {
      uint64_t value = 0;
      std::memcpy(&value, bytes.data() + arg.offset, arg.size_bytes);
      append_decimal(
          out, arg.type_name == "int" ? static_cast<int32_t>(value) : static_cast<int64_t>(value));
    } else {
      value_at(arg.offset, arg.size_bytes);
    }
  }
  return out;
}

}  // namespace wavetap::store
