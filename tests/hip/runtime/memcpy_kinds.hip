// Blocking copies of every kind between pageable, pinned, managed and device memory, with sizes and
// alignments around every internal threshold, and hipMemcpyDefault that must find the kind itself.
#include "check.h"

enum Place { kPageable, kPinned, kManaged, kDevice, kPlaces };
const char* const kPlaceNames[] = {"pageable", "pinned", "managed", "device"};

class Memory {
 public:
  Memory(Place place, size_t bytes) : place_(place) {
    switch (place) {
      case kPageable: data_ = static_cast<uint8_t*>(std::malloc(bytes)); break;
      case kPinned: WT_HIP(hipHostMalloc(&data_, bytes)); break;
      case kManaged: WT_HIP(hipMallocManaged(&data_, bytes)); break;
      default: WT_HIP(hipMalloc(&data_, bytes)); break;
    }
  }
  ~Memory() {
    if (place_ == kPageable) std::free(data_);
    else if (place_ == kPinned) (void)hipHostFree(data_);
    else (void)hipFree(data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* get() const { return data_; }

 private:
  Place place_;
  uint8_t* data_ = nullptr;
};

hipMemcpyKind kind_of(Place from, Place to) {
  if (from == kDevice) return to == kDevice ? hipMemcpyDeviceToDevice : hipMemcpyDeviceToHost;
  return to == kDevice ? hipMemcpyHostToDevice : hipMemcpyHostToHost;
}

int main() {
  const size_t bytes = 5 << 20;
  check::Rng rng(1);
  std::vector<uint8_t> pattern(bytes), blank(bytes, 0xee), got(bytes);
  for (uint8_t& b : pattern) b = static_cast<uint8_t>(rng.next());
  // Around the staging sizes and the largest single SDMA copy (4 MiB).
  const size_t sizes[] = {1, 2, 7, 64, 511, 4096, 4097, 16383, 65537, (1 << 20) + 3, (4 << 20) + 5};
  for (int from = 0; from < kPlaces; ++from) {
    for (int to = 0; to < kPlaces; ++to) {
      Memory source(static_cast<Place>(from), bytes), target(static_cast<Place>(to), bytes);
      WT_HIP(hipMemcpy(source.get(), pattern.data(), bytes, hipMemcpyDefault));
      bool right = true;
      size_t expected_end = 0;
      WT_HIP(hipMemcpy(target.get(), blank.data(), bytes, hipMemcpyDefault));
      std::vector<uint8_t> want = blank;
      int turn = 0;
      for (size_t size : sizes) {
        const size_t source_offset = (turn * 37) % 97, target_offset = (turn * 53) % 101;
        const bool by_default = turn % 3 == 0;
        WT_HIP(hipMemcpy(target.get() + target_offset, source.get() + source_offset, size,
                         by_default ? hipMemcpyDefault
                                    : kind_of(static_cast<Place>(from), static_cast<Place>(to))));
        std::memcpy(want.data() + target_offset, pattern.data() + source_offset, size);
        expected_end = std::max(expected_end, target_offset + size);
        ++turn;
      }
      WT_HIP(hipMemcpy(got.data(), target.get(), bytes, hipMemcpyDefault));
      right = got == want;
      check::expect(right, "%s to %s, 11 sizes up to 4 MiB", kPlaceNames[from], kPlaceNames[to]);
    }
  }
  WT_HIP_RETURNS(hipErrorInvalidValue,
                 hipMemcpy(nullptr, pattern.data(), 4, hipMemcpyHostToDevice));
  WT_HIP(hipMemcpy(got.data(), pattern.data(), 0, hipMemcpyHostToHost));
  check::expect(true, "a copy of nothing succeeds");
  check::Buffer<uint8_t> device(64);
  WT_HIP(hipMemcpyHtoD(device.get(), pattern.data(), 64));
  WT_HIP(hipMemcpyDtoH(got.data(), device.get(), 64));
  check::expect(std::memcmp(got.data(), pattern.data(), 64) == 0,
                "hipMemcpyHtoD and hipMemcpyDtoH");
  return check::finish();
}
