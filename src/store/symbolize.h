// Names for return addresses of a recorded process, from the ELF files it had loaded: function, and
// source line where the file has line information. Each file is read once; each address is answered
// once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/raw_facts.h"

namespace wavetap::store {

class Symbolizer {
 public:
  // They must outlive it.
  explicit Symbolizer(const std::vector<RawImage>& images);
  ~Symbolizer();

  // "saxpy_step(int) at main.cc:41", "main+0x1c (program)", "0x7f12 (libfoo.so)", "0x7f12". The
  // address is a return address: what is named is the call before it.
  const std::string& name(uint64_t address);

 private:
  struct File;
  File* file(const std::string& path);

  std::vector<const RawImage*> images_;  // by begin
  std::map<std::string, std::unique_ptr<File>> files_;
  std::unordered_map<uint64_t, std::string> names_;
};

}  // namespace wavetap::store
