// Protocol buffers, writing side: enough of the wire format for one trace format, nothing generated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wavetap::exporter {

// One message under construction. Fields are written in any order; submessages are built apart and added.
class ProtoMessage {
 public:
  void varint(uint32_t field, uint64_t value) {
    key(field, 0);
    raw_varint(value);
  }
  void fixed64(uint32_t field, uint64_t value) {
    key(field, 1);
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  void bytes(uint32_t field, std::string_view value) {
    key(field, 2);
    raw_varint(value.size());
    bytes_.append(value);
  }
  void message(uint32_t field, const ProtoMessage& value) { bytes(field, value.bytes_); }
  const std::string& str() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  void key(uint32_t field, uint32_t type) { raw_varint(field << 3 | type); }
  void raw_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

}  // namespace wavetap::exporter
