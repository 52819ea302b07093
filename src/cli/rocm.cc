#include "cli/rocm.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "base/byte_cursor.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

// /etc/ld.so.cache, the "new" format (glibc's sysdeps/generic/dl-cache.h): a header, `count`
// entries, then the strings that key (name) and value (path) point at, relative to the header. Old
// caches carry another table in front; the magic is then not at the start and is searched for.
constexpr char kCacheMagic[] = "glibc-ld.so.cache1.1";
constexpr size_t kCacheHeaderBytes = 48;

struct CacheEntry {
  int32_t flags;
  uint32_t key;
  uint32_t value;
  uint32_t os_version;
  uint64_t hardware_capabilities;
};
static_assert(sizeof(CacheEntry) == 24);

std::string text_at(std::string_view bytes, size_t offset) {
  if (offset >= bytes.size()) return "";
  const std::string_view rest = bytes.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

std::string find_in_linker_cache(const std::string& name) {
  const Result<std::vector<std::byte>> file = util::read_file("/etc/ld.so.cache");
  if (!file.ok()) return "";
  std::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  const size_t start = text.find(std::string_view(kCacheMagic));
  if (start == std::string_view::npos) return "";
  text.remove_prefix(start);
  const std::span<const std::byte> bytes = std::span(*file).subspan(start);
  const auto count = read_at<uint32_t>(bytes, sizeof kCacheMagic - 1);
  for (uint32_t i = 0; count && i < *count; ++i) {
    const auto entry =
        read_at<CacheEntry>(bytes, kCacheHeaderBytes + size_t{i} * sizeof(CacheEntry));
    if (!entry) return "";
    if (text_at(text, entry->key) != name) continue;
    const std::string path = text_at(text, entry->value);
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

}  // namespace

std::string find_shared_library(const std::string& name, const std::vector<std::string>& first) {
  std::vector<std::string> folders = first;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (std::string& folder : util::split(path, ':')) folders.push_back(std::move(folder));
  }
  const auto find_in = [&](const std::vector<std::string>& places) -> std::string {
    for (const std::string& place : places) {
      if (place.empty()) continue;
      std::string path = place + "/" + name;
      if (access(path.c_str(), R_OK) == 0) return path;
    }
    return "";
  };
  std::string path = find_in(folders);
  if (path.empty()) path = find_in_linker_cache(name);
  if (path.empty()) path = find_in({"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/opt/rocm/lib"});
  return path;
}

bool rocr_knows(const std::string& path, amd::GfxTarget target) {
  const Result<std::vector<std::byte>> file = util::read_file(path);
  if (!file.ok()) return false;
  const std::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  const std::string name = amd::to_string(target);
  for (size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; at += name.size()) {
    const size_t end = at + name.size();
    if (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

}  // namespace wavetap::cli
