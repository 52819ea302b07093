// Source files by the names that compilers wrote into code objects; each is read once. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wavetap::inspect {

class SourceText {
 public:
  // Empty when the file is not there, or too large to be source.
  const std::vector<std::string>& lines(const std::string& file);
  // "" when not known; `number` counts from 1.
  std::string line(const std::string& file, uint32_t number);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace wavetap::inspect
