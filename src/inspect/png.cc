#include "inspect/png.h"

#include <zlib.h>

#include <algorithm>

namespace wavetap::inspect {
namespace {

void put_u32(std::string& to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift & 0xff);
}

void put_chunk(std::string& to, const std::string& type, const std::string& data) {
  put_u32(to, static_cast<uint32_t>(data.size()));
  const std::string body = type + data;
  to += body;
  put_u32(to, static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                          static_cast<uInt>(body.size()))));
}

}  // namespace

void Picture::fill(size_t x, size_t y, size_t width, size_t height, Colour colour) {
  for (size_t row = y; row < std::min(y + height, height_); ++row)
    for (size_t column = x; column < std::min(x + width, width_); ++column)
      pixels_[row * width_ + column] = colour;
}

std::string Picture::png() const {
  std::string rows;
  for (size_t y = 0; y < height_; ++y) {
    rows += '\0';  // no filter
    for (size_t x = 0; x < width_; ++x) {
      const Colour colour = at(x, y);
      rows += {static_cast<char>(colour.red), static_cast<char>(colour.green),
               static_cast<char>(colour.blue)};
    }
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
            reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()), 9);
  packed.resize(size);
  std::string header;
  put_u32(header, static_cast<uint32_t>(width_));
  put_u32(header, static_cast<uint32_t>(height_));
  header += {8, 2, 0, 0, 0};  // bits, colour type RGB, then the only methods there are
  std::string file = "\x89PNG\r\n\x1a\n";
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", packed);
  put_chunk(file, "IEND", "");
  return file;
}

}  // namespace wavetap::inspect
