// The driver core through its ioctls, as user space calls it, in this process and without
// interposition.
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "amd/drm_abi.h"
#include "vgpu/host_memory.h"
#include "vgpu/own_fds.h"
#include "vgpu/test_driver.h"

namespace wavetap::vgpu {
namespace {

using namespace amd;  // NOLINT

constexpr uint64_t kVa = 0x4100000000;
constexpr uint32_t kRights = kKfdAllocWritable | kKfdAllocExecutable | kKfdAllocPublic;

template <class Args>
uint32_t request_of(uint32_t type, uint32_t number) {
  return static_cast<uint32_t>(_IOC(_IOC_READ | _IOC_WRITE, type, number, sizeof(Args)));
}

class KfdIoctlTest : public ::testing::Test {
 protected:
  // One driver for the whole file: it is never destroyed.
  static void SetUpTestSuite() {
    if (driver_ != nullptr) return;
    scratch_ = new ScratchDirectory;
    Config config = config_of({"rx6800xt", "mi210"});
    config.svm = true;
    driver_ = make_driver(config, scratch_->path());
    ASSERT_NE(driver_, nullptr);
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  template <class Args>
  static int kfd(KfdIoctl number, Args& args) {
    return kfd_ioctl(*driver_, request_of<Args>('K', static_cast<uint32_t>(number)),
                     reinterpret_cast<uint64_t>(&args));
  }
  template <class Args>
  static int drm(Gpu& gpu, DrmIoctl number, Args& args) {
    return drm_ioctl(*driver_, gpu, request_of<Args>('d', static_cast<uint32_t>(number)),
                     reinterpret_cast<uint64_t>(&args));
  }

  static Gpu& gpu(size_t index) { return *driver_->gpus()[index]; }

  static KfdAllocMemoryArgs allocate(uint32_t flags, uint64_t size, uint64_t va = kVa,
                                     uint64_t offset = 0) {
    KfdAllocMemoryArgs args{va, size, 0, offset, gpu(0).gpu_id, flags | kRights};
    EXPECT_EQ(kfd(KfdIoctl::kAllocMemory, args), 0);
    return args;
  }
  static int map(uint64_t handle, std::vector<uint32_t> ids,
                 KfdIoctl number = KfdIoctl::kMapMemory) {
    KfdMapMemoryArgs args{handle, reinterpret_cast<uint64_t>(ids.data()),
                          static_cast<uint32_t>(ids.size()), 0};
    const int error = kfd(number, args);
    EXPECT_EQ(args.n_success, error == 0 ? ids.size() : 0);
    return error;
  }
  static int unmap(uint64_t handle, std::vector<uint32_t> ids) {
    return map(handle, ids, KfdIoctl::kUnmapMemory);
  }
  static int free_memory(uint64_t handle) {
    KfdFreeMemoryArgs args{handle};
    return kfd(KfdIoctl::kFreeMemory, args);
  }

  // What the allocation table says of an address; all zero when there is nothing.
  static Allocation allocation_at(uint64_t va) {
    return driver_->allocations().lookup(GpuAddr{va}).value_or(Allocation{});
  }

  static Driver* driver_;
  static ScratchDirectory* scratch_;
};
Driver* KfdIoctlTest::driver_ = nullptr;
ScratchDirectory* KfdIoctlTest::scratch_ = nullptr;

TEST_F(KfdIoctlTest, AnswersItsVersion) {
  KfdGetVersionArgs args{};
  EXPECT_EQ(kfd(KfdIoctl::kGetVersion, args), 0);
  EXPECT_EQ(args.major, 1u);
  EXPECT_EQ(args.minor, 17u);
}

TEST_F(KfdIoctlTest, ReportsOneSetOfAperturesPerGpu) {
  KfdApertures apertures[4] = {};
  KfdGetProcessAperturesNewArgs args{reinterpret_cast<uint64_t>(apertures), 4, 0};
  EXPECT_EQ(kfd(KfdIoctl::kGetProcessAperturesNew, args), 0);
  EXPECT_EQ(args.num_of_nodes, 2u);
  EXPECT_EQ(apertures[1].gpu_id, gpu(1).gpu_id);
  EXPECT_LT(apertures[0].gpuvm_limit, 1ull << 47);
  // Without room it only says how much is needed.
  KfdGetProcessAperturesNewArgs ask{0, 0, 0};
  EXPECT_EQ(kfd(KfdIoctl::kGetProcessAperturesNew, ask), 0);
  EXPECT_EQ(ask.num_of_nodes, 2u);
}

TEST_F(KfdIoctlTest, MapsVramForTheGpusNamedAndOnlyThose) {
  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 0x3000);
  EXPECT_EQ(gpu(0).space.lookup(GpuAddr{kVa}).end, 0u) << "allocation alone maps nothing";
  EXPECT_EQ(map(buffer.handle, {gpu(0).gpu_id}), 0);
  std::byte* at = gpu(0).space.host_pointer(GpuAddr{kVa + 0x1000}, 0x2000, /*write=*/true);
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(gpu(0).space.host_pointer(GpuAddr{kVa + 0x1000}, 0x2001, true), nullptr);
  EXPECT_EQ(gpu(1).space.lookup(GpuAddr{kVa}).end, 0u);
  EXPECT_EQ(allocation_at(kVa + 0x2fff).mapped_gpus, 1u);
  EXPECT_EQ(map(buffer.handle, {gpu(1).gpu_id}), 0);
  EXPECT_EQ(gpu(1).space.host_pointer(GpuAddr{kVa + 0x1000}, 1, true), at)
      << "peers share the storage";
  const Allocation listed = allocation_at(kVa);
  EXPECT_EQ(listed.va, kVa);
  EXPECT_EQ(listed.size_bytes, 0x3000u);
  EXPECT_EQ(listed.kind, BufferKind::kVram);
  EXPECT_EQ(listed.origin, AllocationOrigin::kDriver);
  EXPECT_EQ(listed.owner, &gpu(0));
  EXPECT_EQ(listed.mapped_gpus, 3u);
  EXPECT_EQ(listed.host + 0x1000, at);
  EXPECT_EQ(free_memory(buffer.handle), EBUSY);
  EXPECT_EQ(unmap(buffer.handle, {gpu(0).gpu_id, gpu(1).gpu_id}), 0);
  EXPECT_EQ(free_memory(buffer.handle), 0);
  EXPECT_EQ(free_memory(buffer.handle), EINVAL);
  EXPECT_EQ(gpu(1).space.lookup(GpuAddr{kVa}).end, 0u);
  EXPECT_EQ(allocation_at(kVa).size_bytes, 0u);
}

TEST_F(KfdIoctlTest, TheCpuAndTheGpuSeeTheSameBytes) {
  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 0x2000);
  map(buffer.handle, {gpu(0).gpu_id});
  void* cpu = nullptr;
  ASSERT_EQ(driver_->store().cpu_map(nullptr, 0x1000, PROT_READ | PROT_WRITE, MAP_SHARED,
                                     buffer.mmap_offset + 0x1000, &cpu),
            0);
  static_cast<char*>(cpu)[5] = 'x';
  EXPECT_EQ(*reinterpret_cast<char*>(gpu(0).space.host_pointer(GpuAddr{kVa + 0x1005}, 1, false)),
            'x');
  // Past the end, or where nothing is.
  EXPECT_EQ(
      driver_->store().cpu_map(nullptr, 0x2001, PROT_READ, MAP_SHARED, buffer.mmap_offset, &cpu),
      EINVAL);
  EXPECT_EQ(driver_->store().cpu_map(nullptr, 0x1000, PROT_READ, MAP_SHARED, 1ull << 45, &cpu),
            EINVAL);
  unmap(buffer.handle, {gpu(0).gpu_id});
  EXPECT_EQ(free_memory(buffer.handle), 0);
}

TEST_F(KfdIoctlTest, RightsFollowTheAllocationFlags) {
  KfdAllocMemoryArgs args{kVa, 0x1000, 0, 0, gpu(0).gpu_id, kKfdAllocGtt};
  ASSERT_EQ(kfd(KfdIoctl::kAllocMemory, args), 0);
  map(args.handle, {gpu(0).gpu_id});
  const emu::MappedRange range = gpu(0).space.lookup(GpuAddr{kVa});
  EXPECT_TRUE(range.readable);
  EXPECT_FALSE(range.writable);
  EXPECT_FALSE(range.executable);
  unmap(args.handle, {gpu(0).gpu_id});
  free_memory(args.handle);
}

TEST_F(KfdIoctlTest, UserPointersMapTheProgramsOwnMemoryElsewhere) {
  void* page = ::mmap(nullptr, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const KfdAllocMemoryArgs buffer =
      allocate(kKfdAllocUserptr, 0x2000, kVa, reinterpret_cast<uint64_t>(page));
  EXPECT_EQ(buffer.mmap_offset, reinterpret_cast<uint64_t>(page)) << "left as it was";
  map(buffer.handle, {gpu(0).gpu_id});
  EXPECT_EQ(gpu(0).space.lookup(GpuAddr{kVa}).host, page);
  unmap(buffer.handle, {gpu(0).gpu_id});
  free_memory(buffer.handle);
  ::munmap(page, 0x2000);

  KfdAllocMemoryArgs gone{kVa,           0x2000,          0, reinterpret_cast<uint64_t>(page),
                          gpu(0).gpu_id, kKfdAllocUserptr};
  EXPECT_EQ(kfd(KfdIoctl::kAllocMemory, gone), EFAULT)
      << "memory that is not there cannot be pinned";
}

// Sanitizers' shadows and languages' heaps reserve terabytes.
TEST_F(KfdIoctlTest, MoreThanTheMachineHasIsNotPinned) {
  const uint64_t size = 2 * host_memory_bytes();
  void* reserved =
      ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  KfdAllocMemoryArgs args{
      kVa, size, 0, reinterpret_cast<uint64_t>(reserved), gpu(0).gpu_id, kKfdAllocUserptr};
  EXPECT_EQ(kfd(KfdIoctl::kAllocMemory, args), ENOMEM);
  ::munmap(reserved, size);
}

TEST_F(KfdIoctlTest, AccountsForVram) {
  KfdAvailableMemoryArgs before{0, gpu(0).gpu_id, 0};
  EXPECT_EQ(kfd(KfdIoctl::kAvailableMemory, before), 0);
  EXPECT_EQ(before.available, gpu(0).model.vram_bytes);
  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 1ull << 30);  // sparse: costs nothing
  KfdAvailableMemoryArgs after{0, gpu(0).gpu_id, 0};
  EXPECT_EQ(kfd(KfdIoctl::kAvailableMemory, after), 0);
  EXPECT_EQ(before.available - after.available, 1ull << 30);
  KfdAllocMemoryArgs too_much{kVa, after.available + 1, 0, 0, gpu(0).gpu_id, kKfdAllocVram};
  EXPECT_EQ(kfd(KfdIoctl::kAllocMemory, too_much), ENOMEM);
  free_memory(buffer.handle);
  KfdAllocMemoryArgs all{kVa, before.available, 0, 0, gpu(0).gpu_id, kKfdAllocVram};
  EXPECT_EQ(kfd(KfdIoctl::kAllocMemory, all), 0) << "to the last byte";
  free_memory(all.handle);
}

TEST_F(KfdIoctlTest, RefusesNonsensicalAllocations) {
  const auto refused = [&](uint64_t va, uint64_t size, uint32_t flags, uint32_t id) {
    KfdAllocMemoryArgs args{va, size, 0, 0x1000, id, flags};
    return kfd(KfdIoctl::kAllocMemory, args);
  };
  const uint32_t id = gpu(0).gpu_id;
  EXPECT_EQ(refused(kVa, 0, kKfdAllocVram, id), EINVAL);
  EXPECT_EQ(refused(kVa, ~0ull, kKfdAllocVram, id), EINVAL);
  EXPECT_EQ(refused(~0ull - 4, 0x1000, kKfdAllocVram, id), EINVAL);
  EXPECT_EQ(refused(kVa, 0x1000, 0, id), EINVAL);
  EXPECT_EQ(refused(kVa, 0x1000, kKfdAllocVram | kKfdAllocGtt, id), EINVAL);
  EXPECT_EQ(refused(kVa, 0x1000, kKfdAllocVram, 0xdead), EINVAL);
  EXPECT_EQ(refused(kVa, 1 << 20, kKfdAllocDoorbell, id), EINVAL);
  EXPECT_EQ(map(12345, {id}), EINVAL);
  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 0x1000);
  EXPECT_EQ(map(buffer.handle, {0xdead}), EINVAL);
  EXPECT_EQ(map(buffer.handle, {}), EINVAL);
  free_memory(buffer.handle);
}

TEST_F(KfdIoctlTest, SurvivesPointersIntoNowhere) {
  for (uint32_t number = 0; number < 256; ++number) {
    for (const uint64_t bad :
         {uint64_t{0}, uint64_t{8}, ~uint64_t{64}, uint64_t{0x7777'0000'0000}}) {
      const uint32_t request = static_cast<uint32_t>(_IOC(3, 'K', number, 64));
      EXPECT_NE(kfd_ioctl(*driver_, request, bad), 0) << number;
      const uint32_t drm_request = static_cast<uint32_t>(_IOC(3, 'd', number, 64));
      EXPECT_NE(drm_ioctl(*driver_, gpu(0), drm_request, bad), 0) << number;
    }
  }
  KfdGetProcessAperturesNewArgs args{0x10, 4, 0};
  EXPECT_EQ(kfd(KfdIoctl::kGetProcessAperturesNew, args), EFAULT);
  KfdWaitEventsArgs wait{0x10, 3, 0, 0, 0};
  EXPECT_EQ(kfd(KfdIoctl::kWaitEvents, wait), EFAULT);
  wait = {0x10, ~0u, 0, 0, 0};
  EXPECT_EQ(kfd(KfdIoctl::kWaitEvents, wait), EINVAL);
}

TEST_F(KfdIoctlTest, AcceptsShorterAndLongerArguments) {
  struct {
    KfdGetVersionArgs args{};
    uint64_t canary = 0x5a5a5a5a;
  } longer;
  const uint32_t request = static_cast<uint32_t>(_IOC(3, 'K', 1, sizeof longer));
  EXPECT_EQ(kfd_ioctl(*driver_, request, reinterpret_cast<uint64_t>(&longer)), 0);
  EXPECT_EQ(longer.args.minor, 17u);
  EXPECT_EQ(longer.canary, 0x5a5a5a5au);
  KfdGetVersionArgs shorter{7, 7};
  EXPECT_EQ(kfd_ioctl(*driver_, static_cast<uint32_t>(_IOC(3, 'K', 1, 4)),
                      reinterpret_cast<uint64_t>(&shorter)),
            0);
  EXPECT_EQ(shorter.major, 1u);
  EXPECT_EQ(shorter.minor, 7u) << "beyond what the caller passed";
}

TEST_F(KfdIoctlTest, EventsWakeTheirWaiters) {
  const KfdAllocMemoryArgs page = allocate(kKfdAllocGtt, 0x8000, kVa + 0x100000);
  KfdCreateEventArgs event{page.handle, 0, 0, /*auto_reset=*/1, 0, 0, 0};
  ASSERT_EQ(kfd(KfdIoctl::kCreateEvent, event), 0);
  EXPECT_NE(event.event_id, 0u);
  EXPECT_NE(event.event_page_offset, 0u);
  KfdEventIdArgs id{event.event_id, 0};
  EXPECT_EQ(kfd(KfdIoctl::kSetEvent, id), 0);
  KfdEventData data{};
  data.event_id = event.event_id;
  KfdWaitEventsArgs wait{reinterpret_cast<uint64_t>(&data), 1, 1, 0, 7};
  EXPECT_EQ(kfd(KfdIoctl::kWaitEvents, wait), 0);
  EXPECT_EQ(wait.wait_result, 0u);
  EXPECT_EQ(kfd(KfdIoctl::kWaitEvents, wait), 0);
  EXPECT_EQ(wait.wait_result, 1u) << "auto-reset, so the second look times out";
  EXPECT_EQ(kfd(KfdIoctl::kDestroyEvent, id), 0);
  EXPECT_EQ(kfd(KfdIoctl::kDestroyEvent, id), EINVAL);
  EXPECT_EQ(free_memory(page.handle), 0);
}

TEST_F(KfdIoctlTest, AcquiresAVmOnlyWithTheGpusOwnRenderNode) {
  const int right = driver_->open_file(&gpu(0), true);
  const int wrong = driver_->open_file(&gpu(1), true);
  ASSERT_GE(right, 0);
  KfdAcquireVmArgs args{static_cast<uint32_t>(right), gpu(0).gpu_id};
  EXPECT_EQ(kfd(KfdIoctl::kAcquireVm, args), 0);
  args.drm_fd = static_cast<uint32_t>(wrong);
  EXPECT_EQ(kfd(KfdIoctl::kAcquireVm, args), EINVAL);
  args.drm_fd = 0;
  EXPECT_EQ(kfd(KfdIoctl::kAcquireVm, args), EINVAL);
  sys::close(right);
  sys::close(wrong);
}

TEST_F(KfdIoctlTest, ExportsBuffersAsFilesOfTheirSize) {
  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 0x5000, /*va=*/0);
  KfdExportDmabufArgs args{buffer.handle, O_CLOEXEC, 0};
  ASSERT_EQ(kfd(KfdIoctl::kExportDmabuf, args), 0);
  const int fd = static_cast<int>(args.dmabuf_fd);
  EXPECT_EQ(::lseek(fd, 0, SEEK_END), 0x5000);
  KfdGetDmabufInfoArgs info{};
  info.dmabuf_fd = args.dmabuf_fd;
  EXPECT_EQ(kfd(KfdIoctl::kGetDmabufInfo, info), 0);
  EXPECT_EQ(info.size, 0x5000u);
  EXPECT_EQ(info.gpu_id, gpu(0).gpu_id);

  // Bound by hand at two places, as virtual memory management does.
  DrmPrimeHandle prime{0, 0, fd};
  ASSERT_EQ(drm(gpu(1), DrmIoctl::kPrimeFdToHandle, prime), 0);
  DrmPrimeHandle again{0, 0, fd};
  ASSERT_EQ(drm(gpu(1), DrmIoctl::kPrimeFdToHandle, again), 0);
  EXPECT_EQ(again.handle, prime.handle);
  AmdgpuGemVaArgs va{
      prime.handle, 0,      kAmdgpuVaMap, kAmdgpuVmPageReadable | kAmdgpuVmPageWriteable,
      kVa,          0x1000, 0x2000};
  EXPECT_EQ(drm(gpu(1), DrmIoctl::kAmdgpuGemVa, va), 0);
  EXPECT_EQ(allocation_at(kVa + 0x1fff).origin, AllocationOrigin::kBound);
  EXPECT_EQ(allocation_at(kVa).mapped_gpus, 2u);
  EXPECT_EQ(allocation_at(kVa + 0x2000).size_bytes, 0u);
  void* view = ::mmap(nullptr, 0x5000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  static_cast<char*>(view)[0x1007] = 'v';
  EXPECT_EQ(*reinterpret_cast<char*>(gpu(1).space.host_pointer(GpuAddr{kVa + 7}, 1, true)), 'v');
  ::munmap(view, 0x5000);
  va.offset_in_bo = 0x4000;
  EXPECT_EQ(drm(gpu(1), DrmIoctl::kAmdgpuGemVa, va), EINVAL) << "past the end of the buffer";

  // The KFD handle may go first; the binding holds the storage.
  EXPECT_EQ(free_memory(buffer.handle), 0);
  EXPECT_NE(gpu(1).space.host_pointer(GpuAddr{kVa + 7}, 1, true), nullptr);
  DrmGemClose close_args{prime.handle, 0};
  EXPECT_EQ(drm(gpu(1), DrmIoctl::kGemClose, close_args), 0);
  EXPECT_EQ(gpu(1).space.lookup(GpuAddr{kVa}).end, 0u);
  EXPECT_EQ(allocation_at(kVa).size_bytes, 0u);
  sys::close(fd);
  EXPECT_EQ(driver_->store().used_vram(gpu(0)), 0u);
}

TEST_F(KfdIoctlTest, KeepsMetadataWithTheStorage) {
  AmdgpuGemCreateArgs create{0x1000, 0x1000, kAmdgpuDomainVram, 0};
  ASSERT_EQ(drm(gpu(0), DrmIoctl::kAmdgpuGemCreate, create), 0);
  const uint32_t gem = static_cast<uint32_t>(create.size);
  AmdgpuGemMetadataArgs set{};
  set.handle = gem;
  set.op = 1;
  set.data_size_bytes = 4;
  set.data[0] = 0xabcd1234;
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kAmdgpuGemMetadata, set), 0);
  AmdgpuGemMetadataArgs get{};
  get.handle = gem;
  get.op = 2;
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kAmdgpuGemMetadata, get), 0);
  EXPECT_EQ(get.data[0], 0xabcd1234u);
  EXPECT_EQ(get.data_size_bytes, 4u);
  set.data_size_bytes = 1000;
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kAmdgpuGemMetadata, set), EINVAL);
  DrmGemClose close_args{gem, 0};
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kGemClose, close_args), 0);
}

TEST_F(KfdIoctlTest, SharesBuffersByHandle) {
  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 0x2000);
  map(buffer.handle, {gpu(0).gpu_id});
  *reinterpret_cast<char*>(gpu(0).space.host_pointer(GpuAddr{kVa}, 1, true)) = 'i';
  KfdIpcExportHandleArgs out{};
  out.handle = buffer.handle;
  out.gpu_id = gpu(0).gpu_id;
  ASSERT_EQ(kfd(KfdIoctl::kIpcExportHandle, out), 0);

  KfdIpcImportHandleArgs in{};
  in.va_addr = kVa + 0x10000000;
  in.gpu_id = gpu(1).gpu_id;
  std::memcpy(in.share_handle, out.share_handle, sizeof in.share_handle);
  ASSERT_EQ(kfd(KfdIoctl::kIpcImportHandle, in), 0);
  map(in.handle, {gpu(1).gpu_id});
  EXPECT_EQ(*reinterpret_cast<char*>(gpu(1).space.host_pointer(GpuAddr{in.va_addr}, 1, true)), 'i');
  EXPECT_EQ(allocation_at(in.va_addr).origin, AllocationOrigin::kImported);
  EXPECT_EQ(allocation_at(in.va_addr).mapped_gpus, 2u);
  EXPECT_EQ(allocation_at(kVa).origin, AllocationOrigin::kDriver);
  unmap(in.handle, {gpu(1).gpu_id});
  EXPECT_EQ(free_memory(in.handle), 0);
  unmap(buffer.handle, {gpu(0).gpu_id});
  EXPECT_EQ(free_memory(buffer.handle), 0);
  EXPECT_EQ(kfd(KfdIoctl::kIpcImportHandle, in), EINVAL) << "the exporter is gone";
}

TEST_F(KfdIoctlTest, SharedVirtualMemoryFollowsItsAttributes) {
  const uint64_t page = sys::page_size();
  char* memory = static_cast<char*>(
      ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const uint64_t at = reinterpret_cast<uint64_t>(memory);
  struct {
    KfdSvmArgs args;
    KfdSvmAttribute attributes[2];
  } call{{at, 4 * page, 0, 2},
         {{static_cast<uint32_t>(KfdSvmAttr::kAccess), gpu(0).gpu_id},
          {static_cast<uint32_t>(KfdSvmAttr::kPreferredLocation), gpu(0).gpu_id}}};
  EXPECT_EQ(kfd(KfdIoctl::kSvm, call), 0);
  EXPECT_EQ(gpu(0).space.host_pointer(GpuAddr{at + page}, 8, true),
            reinterpret_cast<std::byte*>(memory + page));
  EXPECT_EQ(gpu(1).space.lookup(GpuAddr{at}).end, 0u);

  // One page loses its write access, and the answer for the whole range is what holds everywhere.
  call = {{at + page, page, 0, 1},
          {{static_cast<uint32_t>(KfdSvmAttr::kSetFlags), kKfdSvmFlagGpuReadOnly}, {}}};
  EXPECT_EQ(kfd(KfdIoctl::kSvm, call), 0);
  EXPECT_EQ(gpu(0).space.host_pointer(GpuAddr{at + page}, 8, true), nullptr);
  EXPECT_NE(gpu(0).space.host_pointer(GpuAddr{at + 2 * page}, 8, true), nullptr);
  EXPECT_EQ(allocation_at(at).size_bytes, page) << "the range is in three parts now";
  EXPECT_NE(allocation_at(at + page).flags & kKfdSvmFlagGpuReadOnly, 0u);
  EXPECT_EQ(allocation_at(at + 3 * page).va, at + 2 * page);
  EXPECT_EQ(allocation_at(at + 3 * page).kind, BufferKind::kSvm);
  EXPECT_EQ(allocation_at(at + 3 * page).mapped_gpus, 1u);
  call = {{at, 4 * page, 1, 2},
          {{static_cast<uint32_t>(KfdSvmAttr::kSetFlags), 0},
           {static_cast<uint32_t>(KfdSvmAttr::kAccess), gpu(0).gpu_id}}};
  EXPECT_EQ(kfd(KfdIoctl::kSvm, call), 0);
  EXPECT_EQ(call.attributes[0].value & kKfdSvmFlagGpuReadOnly, 0u);
  EXPECT_EQ(call.attributes[1].type, static_cast<uint32_t>(KfdSvmAttr::kAccess));

  driver_->host_unmapped(at, 4 * page);
  EXPECT_EQ(gpu(0).space.lookup(GpuAddr{at}).end, 0u);
  EXPECT_EQ(allocation_at(at + page).size_bytes, 0u);
  ::munmap(memory, 4 * page);

  call = {{at + 1, page, 0, 1}, {{0, 0}, {}}};
  EXPECT_EQ(kfd(KfdIoctl::kSvm, call), EINVAL) << "not page-aligned";
}

TEST_F(KfdIoctlTest, RefusesWhatIsNotModelled) {
  KfdSetXnackModeArgs xnack{-1};
  EXPECT_EQ(kfd(KfdIoctl::kSetXnackMode, xnack), 0);
  EXPECT_EQ(xnack.xnack_enabled, 0);
  xnack.xnack_enabled = 1;
  EXPECT_EQ(kfd(KfdIoctl::kSetXnackMode, xnack), EPERM);
  uint64_t raw[8] = {};
  EXPECT_EQ(kfd(KfdIoctl::kLegacyDbgTrap, raw), ENOTTY);
  EXPECT_EQ(kfd(KfdIoctl::kCriuOp, raw), ENOTTY);
}

TEST_F(KfdIoctlTest, DescribesTheDeviceToLibdrm) {
  char name[16] = {};
  DrmVersion version{};
  version.name_len = sizeof name;
  version.name = reinterpret_cast<uint64_t>(name);
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kVersion, version), 0);
  EXPECT_EQ(version.version_major, 3);
  EXPECT_STREQ(name, "amdgpu");
  EXPECT_EQ(version.name_len, 6u);

  AmdgpuDeviceInfo info{};
  AmdgpuInfoArgs query{
      reinterpret_cast<uint64_t>(&info), 368, static_cast<uint32_t>(AmdgpuInfo::kDevInfo), {}};
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kAmdgpuInfo, query), 0);
  EXPECT_EQ(info.device_id, 0x73bfu);
  EXPECT_EQ(info.cu_active_number, 72u);
  EXPECT_EQ(info.gpu_counter_freq_khz, 100'000u);
  EXPECT_EQ(info.min_engine_clock_khz, 0u) << "past the caller's size";
  uint32_t bits = 0;
  for (const auto& engine : info.cu_bitmap)
    for (const uint32_t array : engine) bits += static_cast<uint32_t>(__builtin_popcount(array));
  EXPECT_EQ(bits, 72u);
  query.query = 0x7777;
  EXPECT_EQ(drm(gpu(0), DrmIoctl::kAmdgpuInfo, query), EINVAL);
}

TEST_F(KfdIoctlTest, FilesLookLikeDevicesAndMoveOutOfTheWay) {
  const int fd = driver_->open_file(nullptr, true);
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(own_fds::contains(fd)) << "this one is the program's";
  DeviceFile file;
  EXPECT_TRUE(driver_->identify(fd, &file));
  EXPECT_EQ(file.gpu, nullptr);
  struct stat st {};
  driver_->disguise(file, &st);
  EXPECT_TRUE(S_ISCHR(st.st_mode));
  sys::close(fd);

  const KfdAllocMemoryArgs buffer = allocate(kKfdAllocVram, 0x1000);
  int ours = -1;
  for (int candidate = own_fds::lowest(); candidate <= own_fds::highest(); ++candidate)
    if (own_fds::contains(candidate)) ours = candidate;
  ASSERT_GE(ours, 0);
  EXPECT_TRUE(driver_->vacate_fd(ours));
  EXPECT_FALSE(own_fds::contains(ours));
  sys::close(ours);  // what the program's dup2 does
  void* view = nullptr;
  EXPECT_EQ(
      driver_->store().cpu_map(nullptr, 0x1000, PROT_READ, MAP_SHARED, buffer.mmap_offset, &view),
      0);
  EXPECT_EQ(free_memory(buffer.handle), 0);
}

TEST_F(KfdIoctlTest, WorksWithFewDescriptors) {
  // A child with `ulimit -n 32`: buffers do without files of their own, and say so when exported.
  const pid_t child = ::fork();
  if (child == 0) {
    struct rlimit few {
      32, 32
    };
    ::setrlimit(RLIMIT_NOFILE, &few);
    own_fds::close_all();
    Config config = config_of({"mi210"});
    int error = 0;
    Driver* driver = Driver::create(config, "", &error);
    if (driver == nullptr) ::_exit(1);
    Gpu& gpu = *driver->gpus()[0];
    std::vector<uint64_t> handles;
    for (int i = 0; i < 200; ++i) {
      uint64_t offset = 0;
      uint64_t handle = 0;
      const uint64_t va = kVa + static_cast<uint64_t>(i) * 0x10000;
      if (driver->buffers().allocate(gpu, va, 0x2000, kKfdAllocVram | kRights, &offset, &handle) !=
          0)
        ::_exit(2);
      Gpu* const gpus[] = {&gpu};
      uint32_t done = 0;
      if (driver->buffers().map(handle, gpus, &done) != 0) ::_exit(3);
      *gpu.space.host_pointer(GpuAddr{va + 8}, 1, true) = static_cast<std::byte>(i);
      handles.push_back(handle);
    }
    for (int i = 0; i < 200; ++i)
      if (*gpu.space.host_pointer(GpuAddr{kVa + static_cast<uint64_t>(i) * 0x10000 + 8}, 1,
                                  false) != static_cast<std::byte>(i))
        ::_exit(4);
    int fd = -1;
    if (driver->buffers().export_dmabuf(handles[0], true, &fd) != EMFILE) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace wavetap::vgpu
