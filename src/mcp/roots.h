// Roots: the folders that a client may name files in.
//
// A path counts as what it is once every link and every `..` in it is followed, and commands get that
// path, so that what was checked is what is used. Whoever can change folders below a root while a
// command runs can still exchange one for a link: a root is for files of the user, not of an adversary.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wavetap::mcp {

class Roots {
 public:
  // An error when one of them is no folder, or when there is none.
  static Result<Roots> make(const std::vector<std::string>& folders);

  // The path of something that exists. A relative one is meant from the first root.
  Result<std::string> to_read(const std::string& path) const;
  // The path of something that exists or can be made in a folder that does.
  Result<std::string> to_write(const std::string& path) const;

  const std::vector<std::string>& folders() const { return folders_; }

 private:
  bool holds(const std::string& path) const;
  std::string from_first(const std::string& path) const;

  std::vector<std::string> folders_;  // links followed
};

}  // namespace wavetap::mcp
