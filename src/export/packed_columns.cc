#include "export/packed_columns.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

namespace wavetap::exporter {
namespace {

constexpr size_t kPiece = 3 << 16;  // of compressed bytes; base64 takes three at a time
constexpr int kGzip = 15 + 16;      // the largest window, with gzip's header

}  // namespace

void write_base64(std::string_view bytes, Sink& sink) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    const auto byte = [&](size_t k) {
      return k < left ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    const uint32_t word = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kDigits[word >> 18];
    out += kDigits[word >> 12 & 63];
    out += left > 1 ? kDigits[word >> 6 & 63] : '=';
    out += left > 2 ? kDigits[word & 63] : '=';
  }
  sink.write(out);
}

Status PackedColumns::write(Sink& sink) const {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return errorf("the page's data: cannot be compressed: no memory; export a part with --start");
  std::vector<unsigned char> piece(kPiece);
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes_.data());
  size_t taken = 0;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    stream.next_out = piece.data();
    stream.avail_out = static_cast<unsigned>(piece.size());
    while (stream.avail_out > 0 && state != Z_STREAM_END) {
      const size_t part = std::min<size_t>(bytes_.size() - taken, 1 << 30);
      stream.next_in = const_cast<unsigned char*>(data + taken);
      stream.avail_in = static_cast<unsigned>(part);
      state = deflate(&stream, taken + part == bytes_.size() ? Z_FINISH : Z_NO_FLUSH);
      taken += part - stream.avail_in;
    }
    write_base64({reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out},
                 sink);
  }
  deflateEnd(&stream);
  return {};
}

}  // namespace wavetap::exporter
