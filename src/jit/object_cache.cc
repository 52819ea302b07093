#include "jit/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/scoped_fd.h"
#include "base/sys.h"
#include "base/whole_io.h"

namespace wavetap::jit {
namespace {

// A block has 192 instructions at most; no object is anywhere near this.
constexpr uint64_t kLargestObject = uint64_t{8} << 20;
constexpr const char* kTemporary = "new.";
constexpr time_t kAbandonedSeconds = 3600;

struct Header {
  char magic[8];
  BlockKey key;
  uint64_t size_bytes;
  uint64_t checksum;
};
constexpr char kMagic[8] = {'W', 'T', 'J', 'I', 'T', '0', '0', '1'};

uint64_t checksum_of(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

// Nobody else can have written it.
bool is_ours(const struct stat& info) {
  return info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Why nothing is read from the folder, which is made if need be.
std::string distrust(const std::string& folder) {
  const bool is_made = mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
  struct stat info {};
  if (!is_made || lstat(folder.c_str(), &info) != 0) return std::strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "is not a folder";
  if (info.st_uid != geteuid()) return "belongs to another user";
  if (!is_ours(info)) return "other users may write there";
  return "";
}

}  // namespace

std::string ObjectCache::refusal(const std::string& folder) {
  std::string reason = distrust(folder);
  if (!reason.empty()) return reason;
  if (access(folder.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  return "";
}

ObjectCache::ObjectCache(std::string folder, uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes), is_closed_(folder_.empty()) {}

bool ObjectCache::open() {
  if (is_open_ || is_closed_) return is_open_;
  is_open_ = distrust(folder_).empty();
  is_closed_ = !is_open_;
  if (is_open_) evict();
  return is_open_;
}

std::string ObjectCache::path_of(const BlockKey& key) const {
  char name[48];
  std::snprintf(name, sizeof name, "/%016llx%016llx.o",
                static_cast<unsigned long long>(key.part[0]),
                static_cast<unsigned long long>(key.part[1]));
  return folder_ + name;
}

std::vector<std::byte> ObjectCache::find(const BlockKey& key) {
  if (!open()) return {};
  const ScopedFd file(::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return {};
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || !is_ours(info)) return {};
  Header header;
  if (!sys::read_whole(file.get(), &header, sizeof header)) return {};
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || !(header.key == key) ||
      header.size_bytes > kLargestObject ||
      static_cast<uint64_t>(info.st_size) != sizeof header + header.size_bytes)
    return {};
  std::vector<std::byte> object(header.size_bytes);
  if (!sys::read_whole(file.get(), object.data(), object.size()) ||
      checksum_of(object) != header.checksum)
    return {};
  futimens(file.get(), nullptr);  // used lately
  return object;
}

void ObjectCache::keep(const BlockKey& key, std::span<const std::byte> object) {
  if (object.empty() || object.size() > kLargestObject || !open()) return;
  const std::string path = folder_ + "/" + kTemporary + std::to_string(sys::tid());
  unlink(path.c_str());
  const ScopedFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.size_bytes = object.size();
  header.checksum = checksum_of(object);
  const bool written = file.valid() && sys::write_whole(file.get(), &header, sizeof header) &&
                       sys::write_whole(file.get(), object.data(), object.size());
  if (!written || rename(path.c_str(), path_of(key).c_str()) != 0) {
    unlink(path.c_str());
    is_closed_ = true;  // full, or not ours to write
    is_open_ = false;
    return;
  }
  since_evicted_ += sizeof header + object.size();
  if (since_evicted_ > limit_bytes_ / 8) evict();
}

void ObjectCache::evict() {
  since_evicted_ = 0;
  DIR* folder = opendir(folder_.c_str());
  if (folder == nullptr) return;
  struct Kept {
    timespec used;
    uint64_t size_bytes;
    std::string name;
  };
  std::vector<Kept> all;
  uint64_t sum = 0;
  const time_t now = time(nullptr);
  while (const dirent* entry = readdir(folder)) {
    struct stat info {};
    if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    const std::string name = entry->d_name;
    if (name.rfind(kTemporary, 0) == 0) {
      if (info.st_mtime + kAbandonedSeconds < now) unlinkat(dirfd(folder), entry->d_name, 0);
      continue;
    }
    const auto size = static_cast<uint64_t>(info.st_size);
    all.push_back({info.st_mtim, size, name});
    sum += size;
  }
  if (sum > limit_bytes_) {
    std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) {
      return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    for (const Kept& one : all) {
      if (sum <= limit_bytes_ / 4 * 3) break;
      if (unlinkat(dirfd(folder), one.name.c_str(), 0) == 0) sum -= one.size_bytes;
    }
  }
  closedir(folder);
}

}  // namespace wavetap::jit
