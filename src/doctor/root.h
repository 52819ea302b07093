// Root: the file system the doctor looks at, the machine's own or a copied tree (--sysroot).
//
// Paths are always those of the machine ("/sys/class/kfd"); in a copied tree, links are followed
// inside the tree. A copy cannot keep device files and owners, so a file `.wavetap-sysroot` at its
// top may state them, one `PATH TYPE MODE UID GID` per line (TYPE c, f or d; MODE octal).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scoped_fd.h"

namespace wavetap::doctor {

struct FileInfo {
  char type = 'f';  // f file, d folder, c device, o other
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size_bytes = 0;
};

// The text, or why there is none.
struct ReadText {
  std::optional<std::string> text;
  int error = 0;

  bool ok() const { return text.has_value(); }
  std::string reason() const;
};

// Any thread may read through it.
class Root {
 public:
  explicit Root(std::string sysroot = "");

  // True for the machine itself.
  bool live() const { return sysroot_.empty(); }

  // At most 4 MiB; more is cut. Never blocks: pipes and devices other than /dev/kmsg are refused.
  ReadText read(const std::string& path) const;
  // The first line without its end; nothing when the file cannot be read.
  std::optional<std::string> line(const std::string& path) const;
  std::optional<uint64_t> number(const std::string& path) const;

  std::optional<FileInfo> info(const std::string& path) const;
  bool exists(const std::string& path) const { return info(path).has_value(); }
  // Sorted names, without . and ..; empty when there is no such folder.
  std::vector<std::string> list(const std::string& folder) const;
  // The path behind all links, as a path of the machine. The path itself when it does not exist.
  std::string real(const std::string& path) const;
  // Open for reading, regular files only; invalid when it cannot be.
  ScopedFd open(const std::string& path) const;

 private:
  // Where the file is on this host, links resolved; empty when a copied tree does not have it.
  std::string host_path(const std::string& path, bool follow_last = true) const;
  std::string resolve(const std::string& path, bool follow_last) const;

  std::string sysroot_;
  std::map<std::string, FileInfo> stated_;
};

// Last part of a path.
std::string base_name(const std::string& path);
// Without spaces at both ends.
std::string trimmed(std::string_view text);
// Non-empty lines.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace wavetap::doctor
