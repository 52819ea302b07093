#include "doctor/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "util/text.h"

namespace wavetap::doctor {
namespace {

constexpr size_t kMaxTextBytes = 4 << 20;
constexpr int kMaxLinks = 40;

FileInfo info_of(const struct stat& status) {
  FileInfo info;
  info.type = S_ISDIR(status.st_mode)   ? 'd'
              : S_ISCHR(status.st_mode) ? 'c'
              : S_ISREG(status.st_mode) ? 'f'
                                        : 'o';
  info.mode = status.st_mode & 07777;
  info.uid = status.st_uid;
  info.gid = status.st_gid;
  info.size_bytes = static_cast<uint64_t>(status.st_size);
  return info;
}

std::string read_link(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : "";
}

}  // namespace

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::string& line : util::split(text, '\n')) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string ReadText::reason() const {
  if (error == ENOENT) return "not there";
  if (error == EACCES || error == EPERM) return "permission denied";
  return std::strerror(error);
}

Root::Root(std::string sysroot) : sysroot_(std::move(sysroot)) {
  while (sysroot_.size() > 1 && sysroot_.back() == '/') sysroot_.pop_back();
  if (sysroot_ == "/") sysroot_.clear();
  if (live()) return;
  const ReadText stated = read("/.wavetap-sysroot");
  if (!stated.ok()) return;
  for (const std::string& line : lines_of(*stated.text)) {
    std::vector<std::string> words = util::split(line, ' ');
    if (words.size() != 5 || words[1].empty()) continue;
    FileInfo info;
    info.type = words[1][0];
    info.mode = static_cast<uint32_t>(std::strtoul(words[2].c_str(), nullptr, 8));
    info.uid = static_cast<uint32_t>(std::strtoul(words[3].c_str(), nullptr, 10));
    info.gid = static_cast<uint32_t>(std::strtoul(words[4].c_str(), nullptr, 10));
    stated_[words[0]] = info;
  }
}

// Walks the path inside the tree; a link's target, absolute or not, counts from the top of the
// tree.
std::string Root::resolve(const std::string& path, bool follow_last) const {
  std::vector<std::string> todo = util::split(path, '/');
  std::reverse(todo.begin(), todo.end());
  std::vector<std::string> done;
  int links = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    std::string here = sysroot_;
    for (const std::string& name : done) here += "/" + name;
    const std::string target = follow_last || !todo.empty() ? read_link(here + "/" + part) : "";
    if (target.empty()) {
      done.push_back(part);
      continue;
    }
    if (++links > kMaxLinks) return "";
    if (target[0] == '/') done.clear();
    std::vector<std::string> parts = util::split(target, '/');
    todo.insert(todo.end(), parts.rbegin(), parts.rend());
  }
  std::string result;
  for (const std::string& name : done) result += "/" + name;
  return result.empty() ? "/" : result;
}

std::string Root::host_path(const std::string& path, bool follow_last) const {
  if (live()) return path;
  const std::string inside = resolve(path, follow_last);
  return inside.empty() ? "" : sysroot_ + inside;
}

std::string Root::real(const std::string& path) const {
  if (!live()) {
    const std::string inside = resolve(path, true);
    return inside.empty() ? path : inside;
  }
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr),
                                                             std::free);
  return resolved ? resolved.get() : path;
}

std::optional<FileInfo> Root::info(const std::string& path) const {
  struct stat status {};
  const std::string host = host_path(path);
  if (host.empty() || stat(host.c_str(), &status) != 0) return std::nullopt;
  FileInfo info = info_of(status);
  const auto stated = stated_.find(path);
  if (stated != stated_.end()) {
    const uint64_t size_bytes = info.size_bytes;
    info = stated->second;
    info.size_bytes = size_bytes;
  }
  return info;
}

std::vector<std::string> Root::list(const std::string& folder) const {
  std::vector<std::string> names;
  const std::string host = host_path(folder);
  if (host.empty()) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(host.c_str()), closedir);
  if (!stream) return names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

ScopedFd Root::open(const std::string& path) const {
  const std::string host = host_path(path);
  if (host.empty()) return ScopedFd();
  ScopedFd fd(::open(host.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return ScopedFd();
  return fd;
}

ReadText Root::read(const std::string& path) const {
  const std::string host = host_path(path);
  if (host.empty()) return {std::nullopt, ELOOP};
  ScopedFd fd(::open(host.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return {std::nullopt, errno};
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return {std::nullopt, errno};
  const bool is_log = path == "/dev/kmsg";
  if (!S_ISREG(status.st_mode) && !is_log)
    return {std::nullopt, S_ISDIR(status.st_mode) ? EISDIR : ENXIO};
  std::string text;
  while (text.size() < kMaxTextBytes) {
    char buffer[16384];
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    // A record was overwritten; the next is there.
    if (got < 0 && is_log && errno == EPIPE) continue;
    if (got < 0 && text.empty() && errno != EAGAIN) return {std::nullopt, errno};
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return {std::move(text), 0};
}

std::optional<std::string> Root::line(const std::string& path) const {
  const ReadText text = read(path);
  if (!text.ok()) return std::nullopt;
  return trimmed(text.text->substr(0, text.text->find('\n')));
}

std::optional<uint64_t> Root::number(const std::string& path) const {
  const std::optional<std::string> text = line(path);
  return text ? util::parse_unsigned(*text) : std::nullopt;
}

}  // namespace wavetap::doctor
