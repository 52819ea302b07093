#include "mcp/roots.h"

#include <filesystem>

namespace wavetap::mcp {
namespace {

namespace fs = std::filesystem;

Error outside(const std::string& path) {
  return errorf("%s: outside the folders that this server was given with --root", path.c_str());
}

}  // namespace

Result<Roots> Roots::make(const std::vector<std::string>& folders) {
  Roots roots;
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !fs::is_directory(real, error))
      return errorf("--root %s: not a folder; check the path", folder.c_str());
    roots.folders_.push_back(real);
  }
  if (roots.folders_.empty()) return errorf("mcp: which folders? name them with --root");
  return roots;
}

bool Roots::holds(const std::string& path) const {
  for (const std::string& folder : folders_)
    if (folder == "/" || path == folder || path.starts_with(folder + "/")) return true;
  return false;
}

std::string Roots::from_first(const std::string& path) const {
  return path.starts_with('/') ? path : folders_[0] + "/" + path;
}

Result<std::string> Roots::to_read(const std::string& path) const {
  std::error_code error, missing;
  const std::string real = fs::weakly_canonical(from_first(path), error);
  // Whether something exists outside is nobody's business either.
  if (error || !holds(real)) return outside(path);
  if (!fs::exists(real, missing))
    return errorf("%s: No such file or directory; check the path", path.c_str());
  return real;
}

Result<std::string> Roots::to_write(const std::string& path) const {
  const fs::path whole = from_first(path);
  const std::string name = whole.filename();
  std::error_code error;
  if (name.empty() || name == "." || name == ".." || fs::exists(whole, error)) return to_read(path);
  if (fs::is_symlink(fs::symlink_status(whole, error)))
    return errorf("%s: a link to nowhere; name another file", path.c_str());
  const Result<std::string> folder = to_read(whole.parent_path());
  if (!folder.ok()) return folder.error();
  return *folder + "/" + name;
}

}  // namespace wavetap::mcp
