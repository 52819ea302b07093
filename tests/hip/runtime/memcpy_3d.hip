// Boxes between host and device with hipMemcpy3D: origins, different pitches and heights on both
// sides.
#include "check.h"

int main() {
  const size_t width = 70, height = 24, depth = 9;
  check::Rng rng(3);
  std::vector<uint8_t> host(width * height * depth);
  for (uint8_t& b : host) b = static_cast<uint8_t>(rng.next());
  check::Buffer<uint8_t> device_bytes(128 * height * depth);
  const hipPitchedPtr device = make_hipPitchedPtr(device_bytes.get(), 128, width, height);

  hipMemcpy3DParms up = {};
  up.srcPtr = make_hipPitchedPtr(host.data(), width, width, height);
  up.dstPtr = device;
  up.extent = make_hipExtent(width, height, depth);
  up.kind = hipMemcpyHostToDevice;
  WT_HIP(hipMemcpy3D(&up));

  std::vector<uint8_t> back(host.size());
  hipMemcpy3DParms down = {};
  down.srcPtr = device;
  down.dstPtr = make_hipPitchedPtr(back.data(), width, width, height);
  down.extent = up.extent;
  down.kind = hipMemcpyDeviceToHost;
  WT_HIP(hipMemcpy3D(&down));
  check::equal("there and back", back, host);

  // A part of the box into another place of a differently shaped box.
  check::Buffer<uint8_t> other_bytes(104 * 40 * 12);
  const hipPitchedPtr other = make_hipPitchedPtr(other_bytes.get(), 104, 100, 40);
  WT_HIP(hipMemset3D(other, 0x77, make_hipExtent(100, 40, 12)));
  hipMemcpy3DParms part = {};
  part.srcPtr = device;
  part.dstPtr = other;
  part.srcPos = make_hipPos(5, 3, 2);
  part.dstPos = make_hipPos(31, 11, 4);
  part.extent = make_hipExtent(33, 17, 6);
  part.kind = hipMemcpyDeviceToDevice;
  WT_HIP(hipMemcpy3D(&part));
  WT_HIP(hipDeviceSynchronize());
  std::vector<uint8_t> got(100 * 40 * 12), want(100 * 40 * 12, 0x77);
  hipMemcpy3DParms all = {};
  all.srcPtr = other;
  all.dstPtr = make_hipPitchedPtr(got.data(), 100, 100, 40);
  all.extent = make_hipExtent(100, 40, 12);
  all.kind = hipMemcpyDeviceToHost;
  WT_HIP(hipMemcpy3D(&all));
  for (size_t z = 0; z < 6; ++z) {
    for (size_t y = 0; y < 17; ++y) {
      std::memcpy(&want[((z + 4) * 40 + y + 11) * 100 + 31],
                  &host[((z + 2) * height + y + 3) * width + 5], 33);
    }
  }
  check::equal("a part between two boxes", got, want);

  hipStream_t stream;
  WT_HIP(hipStreamCreate(&stream));
  std::fill(back.begin(), back.end(), uint8_t{0});
  WT_HIP(hipMemcpy3DAsync(&down, stream));
  WT_HIP(hipStreamSynchronize(stream));
  check::equal("asynchronously", back, host);
  WT_HIP(hipStreamDestroy(stream));

  // Without image support, as on hosts that are not x86, HIP cannot choose a pitch itself.
  hipPitchedPtr chosen;
  const hipError_t error = hipMalloc3D(&chosen, make_hipExtent(width, height, depth));
  if (error == hipSuccess) {
    check::expect(chosen.pitch >= width, "hipMalloc3D: pitch %zu for rows of %zu", chosen.pitch,
                  width);
    WT_HIP(hipFree(chosen.ptr));
  }
  return check::finish();
}
