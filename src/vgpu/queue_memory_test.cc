#include "vgpu/queue_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <vector>

namespace wavetap::vgpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kVa = 0x10000;

// As a program registers a small object of its heap: the GPU has the page that it lies in.
class HeapPage {
 public:
  static constexpr size_t kBytes = 100;
  HeapPage() {
    arm_guard();
    std::memset(object_, 7, kBytes);
    space_.map(kVa, kPage, reinterpret_cast<std::byte*>(page()), true, false);
  }
  ~HeapPage() { ::operator delete(object_, kAlign); }
  HeapPage(const HeapPage&) = delete;
  HeapPage& operator=(const HeapPage&) = delete;

  AddressSpace& space() { return space_; }
  std::byte* object() { return object_; }
  uint64_t offset() const { return reinterpret_cast<uintptr_t>(object_) - page(); }

 private:
  static constexpr std::align_val_t kAlign{128};  // all of it in one page

  uintptr_t page() const { return reinterpret_cast<uintptr_t>(object_) / kPage * kPage; }

  std::byte* const object_ = static_cast<std::byte*>(::operator new(kBytes, kAlign));
  AddressSpace space_;
};

TEST(GuestMemory, ReadsAWholePageThatTheHeapHasAPartOf) {
  HeapPage heap;
  GuestMemory memory(heap.space());
  std::vector<std::byte> bytes(kPage);
  ASSERT_TRUE(memory.read(GpuAddr{kVa}, bytes.data(), kPage));
  EXPECT_EQ(std::memcmp(bytes.data() + heap.offset(), heap.object(), HeapPage::kBytes), 0);
}

TEST(GuestMemory, WritesAndCopiesAnyNumberOfBytesAnywhere) {
  HeapPage heap;
  GuestMemory memory(heap.space());
  const std::atomic<bool> stop{false};
  const GpuAddr object{kVa + heap.offset()};
  const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (const uint64_t size : {1, 7, 8, 31, 32}) {
    for (const uint64_t at : {0, 1, 8}) {
      ASSERT_TRUE(memory.write(object + at, text, size));
      ASSERT_EQ(std::memcmp(heap.object() + at, text, size), 0) << size << " at " << at;
      // Onto itself, upwards and downwards.
      ASSERT_TRUE(memory.copy(object + (at + 8), object + at, size, stop));
      ASSERT_EQ(std::memcmp(heap.object() + at + 8, text, size), 0) << size << " at " << at;
      ASSERT_TRUE(memory.copy(object + at, object + (at + 8), size, stop));
      ASSERT_EQ(std::memcmp(heap.object() + at, text, size), 0) << size << " at " << at;
    }
  }
}

}  // namespace
}  // namespace wavetap::vgpu
