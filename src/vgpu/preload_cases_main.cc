// A program for preload_test.cc: does what programs do to files and descriptors, under the
// preloaded library, and says what came out differently from what it should. `preload_cases CASE`;
// exit 0: as expected.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "amd/drm_abi.h"
#include "amd/kfd_abi.h"

namespace {

using namespace wavetap::amd;  // NOLINT

int g_failures = 0;

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      printf("line %d: %s (errno %d: %s)\n", __LINE__, #condition, errno, strerror(errno)); \
      ++g_failures;                                                                         \
    }                                                                                       \
  } while (0)

template <class Args>
int call(int fd, KfdIoctl number, Args& args) {
  return ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'K', static_cast<unsigned>(number), sizeof args),
               &args);
}

uint32_t first_gpu(int kfd) {
  KfdApertures apertures[8] = {};
  KfdGetProcessAperturesNewArgs args{reinterpret_cast<uint64_t>(apertures), 8, 0};
  CHECK(call(kfd, KfdIoctl::kGetProcessAperturesNew, args) == 0);
  CHECK(args.num_of_nodes >= 1);
  return apertures[0].gpu_id;
}

bool works(int kfd) {
  KfdGetVersionArgs version{};
  return call(kfd, KfdIoctl::kGetVersion, version) == 0 && version.major == 1;
}

// Allocates VRAM, maps it for the CPU, writes and reads it.
bool memory_works(int kfd, int render, uint64_t va) {
  KfdAllocMemoryArgs args{va, 0x4000,         0,
                          0,  first_gpu(kfd), kKfdAllocVram | kKfdAllocWritable | kKfdAllocPublic};
  if (call(kfd, KfdIoctl::kAllocMemory, args) != 0) return false;
  char* memory = static_cast<char*>(mmap(nullptr, 0x4000, PROT_READ | PROT_WRITE, MAP_SHARED,
                                         render, static_cast<off_t>(args.mmap_offset)));
  if (memory == MAP_FAILED) return false;
  memset(memory, 7, 0x4000);
  const bool good = memory[0x3fff] == 7;
  munmap(memory, 0x4000);
  KfdFreeMemoryArgs free_args{args.handle};
  return call(kfd, KfdIoctl::kFreeMemory, free_args) == 0 && good;
}

std::string read_all(const char* path) {
  FILE* file = fopen(path, "r");
  if (file == nullptr) return "<missing>";
  char text[256] = {};
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  return std::string(text, size);
}

// The list of PCI devices, also as hwloc asks for it: below a descriptor of the root directory.
void pci_devices() {
  const int top = open("/", O_RDONLY | O_DIRECTORY);
  for (const int list : {open("/sys/bus/pci/devices", O_RDONLY | O_DIRECTORY),
                         openat(top, "sys/bus/pci/devices/", O_RDONLY | O_DIRECTORY)}) {
    DIR* bus = fdopendir(list);
    CHECK(bus != nullptr);
    int gpus = 0;
    while (const dirent* entry = bus == nullptr ? nullptr : readdir(bus))
      gpus +=
          strcmp(entry->d_name, "0000:d3:00.0") == 0 || strcmp(entry->d_name, "0000:d4:00.0") == 0;
    CHECK(gpus == 2);
    if (bus != nullptr) closedir(bus);
  }
  const int vendor = openat(top, "sys/bus/pci/devices/0000:d4:00.0/vendor", O_RDONLY);
  char id[8] = {};
  CHECK(vendor >= 0 && read(vendor, id, sizeof id - 1) == 7 && strcmp(id, "0x1002\n") == 0);
  close(vendor);
  struct stat st {};
  CHECK(fstatat(top, "sys/bus/pci/devices/0000:d4:00.0", &st, 0) == 0 && S_ISDIR(st.st_mode));
  CHECK(faccessat(top, "dev/kfd", R_OK, 0) == 0);
  char link[256];
  CHECK(readlinkat(top, "sys/class/drm/card0", link, sizeof link) > 0);
  const int dri = open("/dev/dri", O_RDONLY | O_DIRECTORY);
  CHECK(openat(dri, "sys/class/kfd", O_RDONLY) == -1 && errno == ENOENT);
  close(dri);
  close(top);
}

void paths() {
  for (const char* path : {"/dev/kfd", "//dev//kfd", "/dev/./kfd", "/dev/shm/../kfd"}) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(works(fd));
    CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    struct stat st {};
    CHECK(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 511);
    close(fd);
  }
  struct stat st {};
  CHECK(stat("/dev/dri/renderD128", &st) == 0 && S_ISCHR(st.st_mode) && minor(st.st_rdev) == 128);
  struct statx stx {};
  CHECK(statx(AT_FDCWD, "/dev/dri/card0", 0, STATX_BASIC_STATS, &stx) == 0 &&
        S_ISCHR(stx.stx_mode));
  CHECK(stx.stx_rdev_major == 226 && stx.stx_rdev_minor == 0);
  CHECK(access("/dev/kfd", R_OK | W_OK) == 0);
  CHECK(access("/dev/dri/renderD200", F_OK) != 0 && errno == ENOENT);
  CHECK(open("/dev/dri/renderD200", O_RDWR) == -1 && errno == ENOENT);
  CHECK(read_all("/sys/class/kfd/kfd/topology/nodes/1/name") == "gfx1030\n");
  CHECK(read_all("/sys/module/amdgpu/initstate") == "live\n");

  char link[256] = {};
  CHECK(readlink("/sys/class/drm/card0", link, sizeof link - 1) > 0 &&
        strncmp(link, "../../devices/pci", 17) == 0);
  char resolved[PATH_MAX];
  CHECK(realpath("/sys/class/drm/card0/device", resolved) != nullptr);
  CHECK(strncmp(resolved, "/sys/devices/pci0000:d1/", 24) == 0);

  DIR* directory = opendir("/sys/class/kfd/kfd/topology/nodes");
  CHECK(directory != nullptr);
  int entries = 0;
  while (directory != nullptr && readdir(directory) != nullptr) ++entries;
  CHECK(entries == 2 + 3);
  if (directory != nullptr) closedir(directory);
  glob_t found{};
  CHECK(glob("/sys/class/drm/card?", 0, nullptr, &found) == 0 && found.gl_pathc == 2);
  CHECK(found.gl_pathc == 2 && strcmp(found.gl_pathv[1], "/sys/class/drm/card1") == 0);
  globfree(&found);

  // Device nodes reached through a directory instead of by their full name.
  const int dri = open("/dev/dri", O_RDONLY | O_DIRECTORY);
  CHECK(dri >= 0);
  const int render = openat(dri, "renderD128", O_RDWR);
  DrmVersion version{};
  CHECK(render >= 0 && ioctl(render, _IOC(3, 'd', 0, sizeof version), &version) == 0 &&
        version.version_major == 3);
  close(render);
  CHECK(chdir("/dev/dri") == 0);
  const int again = open("renderD129", O_RDWR);
  CHECK(again >= 0 && ioctl(again, _IOC(3, 'd', 0, sizeof version), &version) == 0);
  CHECK(chdir("/") == 0);

  // Nonsense is refused as ever.
  const char* volatile nowhere = nullptr;
  CHECK(open(nowhere, O_RDONLY) == -1 && errno == EFAULT);
  CHECK(open("", O_RDONLY) == -1 && errno == ENOENT);
  CHECK(stat("", &st) == -1 && errno == ENOENT);
  CHECK(access("/dev/null", R_OK) == 0);
}

void descriptors() {
  rlimit usual{1024, 4096};  // so that the library's descriptors lie among those taken over below
  CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
  int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  int render = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  CHECK(kfd >= 0 && kfd < 16);  // the program's own descriptors stay low
  CHECK(memory_works(kfd, render, 0x4100000000));
  const int copy = fcntl(kfd, F_DUPFD_CLOEXEC, 100);
  CHECK(copy >= 100 && works(copy));
  KfdAllocMemoryArgs kept{
      0x4200000000, 0x1000, 0, 0, first_gpu(kfd), kKfdAllocVram | kKfdAllocWritable};
  CHECK(call(kfd, KfdIoctl::kAllocMemory, kept) == 0);

  // Closing everything, the way daemons do, takes the program's descriptors and none of ours.
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  CHECK(ioctl(kfd, _IOC(3, 'K', 1, 8), nullptr) == -1 && errno == EBADF);
  kfd = open("/dev/kfd", O_RDWR);
  render = open("/dev/dri/renderD128", O_RDWR);
  CHECK(works(kfd) && memory_works(kfd, render, 0x4100000000));
  closefrom(3);
  kfd = open("/dev/kfd", O_RDWR);
  render = open("/dev/dri/renderD128", O_RDWR);
  CHECK(works(kfd) && memory_works(kfd, render, 0x4100000000));

  // Taking over every number, one after the other.
  const int null = open("/dev/null", O_RDWR);
  for (int fd = null + 1; fd < 1024; ++fd) CHECK(dup2(null, fd) == fd);
  for (int fd = null + 1; fd < 1000; ++fd) close(fd);
  CHECK(works(kfd));
  void* memory = mmap(nullptr, 0x1000, PROT_READ | PROT_WRITE, MAP_SHARED, render,
                      static_cast<off_t>(kept.mmap_offset));
  CHECK(memory != MAP_FAILED);
  CHECK(mmap(nullptr, 0x1000, PROT_READ, MAP_SHARED, render, 1ll << 44) == MAP_FAILED &&
        errno == EINVAL);
  CHECK(mmap(nullptr, 0x1000, PROT_READ, MAP_PRIVATE, null, 1ll << 44) == MAP_FAILED);
  KfdFreeMemoryArgs free_args{kept.handle};
  CHECK(call(kfd, KfdIoctl::kFreeMemory, free_args) == 0);
}

// What a child process sees; its exit status says how many things were wrong.
template <class Body>
int in_child(Body body) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    g_failures = 0;
    body();
    fflush(stdout);
    _exit(g_failures);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

void forks() {
  const int kfd = open("/dev/kfd", O_RDWR);
  const int render = open("/dev/dri/renderD128", O_RDWR);
  CHECK(memory_works(kfd, render, 0x4100000000));
  KfdAllocMemoryArgs mine{
      0x4300000000, 0x1000, 0, 0, first_gpu(kfd), kKfdAllocVram | kKfdAllocWritable};
  CHECK(call(kfd, KfdIoctl::kAllocMemory, mine) == 0);
  CHECK(in_child([] {}) == 0);
  CHECK(in_child([&] {
          CHECK(ioctl(kfd, _IOC(3, 'K', 1, 8), nullptr) == -1 && errno == EBADF);  // the parent's
          const int own = open("/dev/kfd", O_RDWR);
          const int own_render = open("/dev/dri/renderD128", O_RDWR);
          CHECK(works(own) && memory_works(own, own_render, 0x4100000000));
          KfdFreeMemoryArgs free_args{mine.handle};
          CHECK(call(own, KfdIoctl::kFreeMemory, free_args) == -1);  // not this process's
          CHECK(in_child([] {
                  const int third = open("/dev/kfd", O_RDWR);
                  CHECK(works(third));
                }) == 0);
        }) == 0);
  CHECK(works(kfd) && memory_works(kfd, render, 0x4100000000));
  KfdFreeMemoryArgs free_args{mine.handle};
  CHECK(call(kfd, KfdIoctl::kFreeMemory, free_args) == 0);
}

// How many of the library's files this process holds.
int own_files() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = directory == nullptr ? nullptr : readdir(directory)) {
    char path[300];
    char target[256] = {};
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "memfd:wavetap") != nullptr)
      ++count;
  }
  if (directory != nullptr) closedir(directory);
  return count;
}

void execs(const char* self) {
  const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  CHECK(works(kfd) && own_files() > 1);
  execl(self, self, "after-exec", nullptr);
  CHECK(false);
}

void after_exec() {
  CHECK(own_files() == 0);
  CHECK(works(open("/dev/kfd", O_RDWR | O_CLOEXEC)));
}

void few_descriptors() {
  rlimit few{32, 32};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const int kfd = open("/dev/kfd", O_RDWR);
  const int render = open("/dev/dri/renderD128", O_RDWR);
  CHECK(kfd >= 0 && render >= 0);
  for (uint64_t i = 0; i < 100; ++i) {
    KfdAllocMemoryArgs args{0x4100000000 + i * 0x10000,       0x1000, 0, 0, first_gpu(kfd),
                            kKfdAllocVram | kKfdAllocWritable};
    CHECK(call(kfd, KfdIoctl::kAllocMemory, args) == 0);
  }
  CHECK(memory_works(kfd, render, 0x5100000000));
  for (int i = 0; i < 12; ++i) CHECK(open("/dev/null", O_RDONLY) >= 0);
}

void small_files() {
  rlimit small{4096, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const int kfd = open("/dev/kfd", O_RDWR);
  const int render = open("/dev/dri/renderD128", O_RDWR);
  CHECK(memory_works(kfd, render, 0x4100000000));
  rlimit after{};
  CHECK(getrlimit(RLIMIT_FSIZE, &after) == 0 && after.rlim_cur == 4096);
}

void* exit_from_thread(void*) {
  const int kfd = open("/dev/kfd", O_RDWR);
  exit(works(kfd) ? 0 : 1);
}

void use_at_exit() {
  const int kfd = open("/dev/kfd", O_RDWR);
  if (!works(kfd)) _exit(1);
}

constexpr int kReservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void take_addresses(uint64_t begin, uint64_t size) {
  mmap(reinterpret_cast<void*>(begin), size, PROT_NONE, kReservation | MAP_FIXED_NOREPLACE, -1, 0);
}

// Three reservations, all inside the range and far from each other.
void reserve_between(uint64_t begin, uint64_t end) {
  uint64_t before = begin - 0x400'0000;
  for (int i = 0; i < 3; ++i) {
    errno = 0;
    void* const got = mmap(nullptr, 4096, PROT_NONE, kReservation, -1, 0);
    CHECK(got != MAP_FAILED && errno == 0);
    const auto at = reinterpret_cast<uint64_t>(got);
    CHECK(at >= before + 0x400'0000 && at < end);
    CHECK(munmap(got, 4096) == 0);  // and its place is not used again
    before = at;
  }
}

// Reservations of the thunk are kept apart, also where somebody has the places meant for them: a
// sanitizer's heap, or all of them, as another sanitizer's shadow.
void guarded_reservations() {
  constexpr uint64_t kTerabyte = 0x100'0000'0000;
  const int kfd = open("/dev/kfd", O_RDWR);
  CHECK(works(kfd));
  take_addresses(0x6000'0000'0000, 4 * kTerabyte);
  take_addresses(0x6400'0000'0000, 0x4000'0000);
  reserve_between(0x6400'0000'0000, uint64_t{1} << 47);
#if !defined(WT_SANITIZE_ADDRESS)  // whose shadow is in the other range
  for (uint64_t at = 0x6400'0000'0000; at < 0x7e00'0000'0000; at += 0x4000'0000)
    take_addresses(at, 0x4000'0000);
  reserve_between(kTerabyte, 9 * kTerabyte);
#endif
}

// Everything passes through: results are the kernel's own.
void inert() {
  for (const char* path :
       {"/dev/kfd", "/dev/dri/renderD128", "/sys/class/kfd", "/sys/class/drm", "/dev/null"}) {
    struct stat ours {};
    struct stat real {};
    const int result = stat(path, &ours);
    CHECK(result == static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, &real, 0)));
    CHECK(ours.st_ino == real.st_ino && ours.st_rdev == real.st_rdev);
  }
  char link[64];
  CHECK(readlink("/proc/self/exe", link, sizeof link) > 0);
  const int null = open("/dev/null", O_RDWR);
  CHECK(null >= 0 && dup2(null, 500) == 500 && close(500) == 0 && close(null) == 0);
}

// Clocks are libc's: times go on, what libc refuses is refused, and a loop of the program's own turns as often as it likes.
void clocks() {
  CHECK(open("/dev/kfd", O_RDWR | O_CLOEXEC) >= 0);
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW}) {
    timespec before{}, after{};
    CHECK(clock_gettime(clock, &before) == 0);
    for (int i = 0; i < 1000; ++i) CHECK(clock_gettime(clock, &after) == 0);
    CHECK(after.tv_sec > before.tv_sec ||
          (after.tv_sec == before.tv_sec && after.tv_nsec >= before.tv_nsec));
  }
  timespec time{};
  errno = 0;
  CHECK(clock_gettime(12345, &time) == -1 && errno == EINVAL);
}

// As with jemalloc and the sanitizers: free() asks for the time, here in the middle of dlsym().
bool g_free_asks_for_the_time = false;

void allocator_with_a_clock() {
  // Each search frees the text of the error before.
  CHECK(dlsym(RTLD_DEFAULT, "there_is_no_such_symbol") == nullptr);
  g_free_asks_for_the_time = true;
  CHECK(dlsym(RTLD_DEFAULT, "there_is_no_such_symbol_either") == nullptr);
  timespec time{};
  CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0 && time.tv_sec + time.tv_nsec != 0);
  g_free_asks_for_the_time = false;
}

}  // namespace

// The sanitizers' runtimes have a free() of their own.
#if !defined(WT_SANITIZE_ADDRESS) && !defined(WT_SANITIZE_THREAD)
extern "C" void __libc_free(void*);
extern "C" void free(void* memory) noexcept {
  timespec time{};
  if (g_free_asks_for_the_time) clock_gettime(CLOCK_MONOTONIC, &time);
  __libc_free(memory);
}
#endif

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "paths") paths();
  else if (what == "pci-devices") pci_devices();
  else if (what == "descriptors") descriptors();
  else if (what == "forks") forks();
  else if (what == "execs") execs(argv[0]);
  else if (what == "after-exec") after_exec();
  else if (what == "few-descriptors") few_descriptors();
  else if (what == "small-files") small_files();
  else if (what == "guarded-reservations") guarded_reservations();
  else if (what == "clocks") clocks();
  else if (what == "allocator-with-a-clock") allocator_with_a_clock();
  else if (what == "inert") inert();
  else if (what == "exit-from-thread") {
    pthread_t thread;
    pthread_create(&thread, nullptr, exit_from_thread, nullptr);
    pthread_join(thread, nullptr);
    return 2;
  } else if (what == "use-at-exit") {
    atexit(use_at_exit);
  } else {
    fprintf(stderr, "usage: preload_cases CASE\n");
    return 2;
  }
  return g_failures == 0 ? 0 : 1;
}
