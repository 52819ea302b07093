// Numbers for a page: varints (seven bits a byte, lowest first, the high bit says that more follow),
// compressed with gzip and written in base64, so that a browser unpacks them with what it has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "export/sink.h"

namespace wavetap::exporter {

class PackedColumns {
 public:
  void add(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  // Not compressed yet.
  const std::string& bytes() const { return bytes_; }
  Status write(Sink& sink) const;

 private:
  std::string bytes_;
};

// The text of RFC 4648, with padding; `bytes` in pieces, all but the last of a length that is a
// multiple of three.
void write_base64(std::string_view bytes, Sink& sink);

}  // namespace wavetap::exporter
