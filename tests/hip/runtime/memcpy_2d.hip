// Rectangles: every direction, different pitches on both sides, odd widths and offsets, whole-row
// and single-column cases, and hipMemcpyParam2D with explicit origins.
#include "check.h"

struct Case {
  size_t width, height, source_pitch, target_pitch;
};

int main() {
  check::Rng rng(2);
  const Case cases[] = {{64, 16, 64, 64},   {100, 33, 128, 256},    {1, 70, 37, 5},
                        {259, 3, 300, 260}, {1024, 40, 1100, 2048}, {4, 500, 8, 12}};
  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  for (const Case& c : cases) {
    std::vector<uint8_t> source(c.source_pitch * c.height), want(c.target_pitch * c.height, 0xcc);
    for (uint8_t& b : source) b = static_cast<uint8_t>(rng.next());
    for (size_t y = 0; y < c.height; ++y)
      std::memcpy(&want[y * c.target_pitch], &source[y * c.source_pitch], c.width);
    const std::vector<uint8_t> blank(want.size(), 0xcc);
    check::Buffer<uint8_t> device_source(source), device_target(blank);
    std::vector<uint8_t> host_target = blank;
    char name[96];
    std::snprintf(name, sizeof name, "%zux%zu, pitches %zu and %zu", c.width, c.height,
                  c.source_pitch, c.target_pitch);
    const std::string what = name;

    WT_HIP(hipMemcpy2D(device_target, c.target_pitch, source.data(), c.source_pitch, c.width,
                       c.height, hipMemcpyHostToDevice));
    check::equal((what + " host to device").c_str(), device_target.read(), want);
    device_target.write(blank);
    WT_HIP(hipMemcpy2D(device_target, c.target_pitch, device_source, c.source_pitch, c.width,
                       c.height, hipMemcpyDeviceToDevice));
    WT_HIP(hipDeviceSynchronize());
    check::equal((what + " device to device").c_str(), device_target.read(), want);
    WT_HIP(hipMemcpy2D(host_target.data(), c.target_pitch, device_source, c.source_pitch, c.width,
                       c.height, hipMemcpyDeviceToHost));
    check::equal((what + " device to host").c_str(), host_target, want);
    host_target = blank;
    WT_HIP(hipMemcpy2DAsync(host_target.data(), c.target_pitch, device_source, c.source_pitch,
                            c.width, c.height, hipMemcpyDeviceToHost, stream));
    WT_HIP(hipStreamSynchronize(stream));
    check::equal((what + " asynchronously").c_str(), host_target, want);
  }

  const size_t pitch = 200, rows = 60;
  std::vector<uint8_t> image(pitch * rows), want(pitch * rows, 1);
  for (uint8_t& b : image) b = static_cast<uint8_t>(rng.next());
  check::Buffer<uint8_t> from(image), to(pitch * rows);
  to.fill_bytes(1);
  hip_Memcpy2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = hipMemoryTypeDevice;
  copy.srcDevice = from.get();
  copy.dstDevice = to.get();
  copy.srcPitch = copy.dstPitch = pitch;
  copy.srcXInBytes = 13, copy.srcY = 5, copy.dstXInBytes = 40, copy.dstY = 21;
  copy.WidthInBytes = 77, copy.Height = 30;
  WT_HIP(hipMemcpyParam2D(&copy));
  WT_HIP(hipDeviceSynchronize());
  for (size_t y = 0; y < 30; ++y)
    std::memcpy(&want[(y + 21) * pitch + 40], &image[(y + 5) * pitch + 13], 77);
  check::equal("hipMemcpyParam2D with origins", to.read(), want);
  WT_HIP(hipStreamDestroy(stream));
  WT_HIP_RETURNS(hipErrorInvalidPitchValue,
                 hipMemcpy2D(to, 10, image.data(), 200, 50, 2, hipMemcpyHostToDevice));
  return check::finish();
}
