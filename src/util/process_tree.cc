#include "util/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/scoped_fd.h"

namespace wavetap::util {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::vector<pid_t> all_processes() {
  std::vector<pid_t> made;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc"));
  if (folder == nullptr) return made;
  while (const dirent* entry = readdir(folder.get()))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0)
      made.push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
  return made;
}

// 0: it is gone. The name in the file may hold anything, so the fields are behind its last bracket.
pid_t parent_of(pid_t process) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/%ld/stat", static_cast<long>(process));
  const ScopedFd file(open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t count = file.valid() ? read(file.get(), text, sizeof text - 1) : -1;
  if (count <= 0) return 0;
  text[count] = 0;
  const char* const behind = std::strrchr(text, ')');
  if (behind == nullptr || std::strlen(behind) < 5) return 0;
  return static_cast<pid_t>(std::strtol(behind + 4, nullptr, 10));
}

}  // namespace

bool has_more_descendants(pid_t ancestor, size_t most) {
  const std::vector<pid_t> all = all_processes();
  if (all.size() <= most) return false;  // there are not so many on the whole machine
  std::map<pid_t, pid_t> parents;
  for (const pid_t one : all) parents[one] = parent_of(one);
  size_t found = 0;
  for (const pid_t one : all) {
    pid_t at = one;
    for (int step = 0; step < 64 && at > 1 && at != ancestor; ++step) {
      const auto parent = parents.find(at);
      at = parent == parents.end() ? 0 : parent->second;
    }
    if (at == ancestor && one != ancestor) ++found;
  }
  return found > most;
}

}  // namespace wavetap::util
