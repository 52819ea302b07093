// Pictures as PNG files: 8 bits per channel, red, green, blue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::inspect {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};

class Picture {
 public:
  Picture(size_t width, size_t height, Colour background)
      : width_(width), height_(height), pixels_(width * height, background) {}

  size_t width() const { return width_; }
  size_t height() const { return height_; }
  // What is outside is not drawn.
  void fill(size_t x, size_t y, size_t width, size_t height, Colour colour);
  Colour at(size_t x, size_t y) const { return pixels_[y * width_ + x]; }

  // The file's bytes.
  std::string png() const;

 private:
  size_t width_;
  size_t height_;
  std::vector<Colour> pixels_;
};

}  // namespace wavetap::inspect
