#include "record/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#include <new>

#include "format/checksum.h"
#include "format/session.h"
#include "record/clock.h"
#include "record/losses.h"
#include "record/say.h"
#include "record/state.h"
#include "record/sys.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace wavetap::record {
namespace {

constexpr char kSpareSuffix[] = ".spare";
constexpr size_t kPoolBytes = 64 << 10;

constinit Session g_session;

// A recording must not take the last of a disk that others use as well, and the import needs room
// for the trace.
constexpr uint64_t kKeepFree = 256 << 20;

bool leaves_enough(int fd, size_t size) {
  struct statfs disk {};
  if (sys::call(SYS_fstatfs, fd, &disk) != 0) return true;
  const auto block = static_cast<uint64_t>(disk.f_bsize);
  const uint64_t total = disk.f_blocks * block;
  const uint64_t keep = total / 16 < kKeepFree ? total / 16 : kKeepFree;
  return total == 0 || disk.f_bavail * block >= keep + size;
}

// Fills the file with zeros, many pages with one call: pages that come into being that way lie
// together, and what lies together is mapped by one fault. One page at a time, as faults make them,
// costs several times as much.
int write_zeros(int fd, size_t size) {
  static constexpr char kZeros[4096] = {};
  constexpr size_t kPages = 64;
  struct iovec pages[kPages];
  for (size_t done = 0; done < size;) {
    size_t count = 0;
    for (size_t left = size - done; count < kPages && left > 0; ++count) {
      const size_t part = left < sizeof kZeros ? left : sizeof kZeros;
      pages[count] = {const_cast<char*>(kZeros), part};
      left -= part;
    }
    const int64_t written = sys::call(SYS_pwritev, fd, pages, count, done, 0);
    if (written == -EINTR) continue;
    if (written <= 0) return written < 0 ? static_cast<int>(-written) : ENOSPC;
    done += static_cast<size_t>(written);
  }
  return 0;
}

// Allocates every block of the file and brings it into memory.
int allocate(int fd, size_t size) {
  // Beyond `ulimit -f` the kernel would send the program SIGXFSZ.
  struct rlimit limit {};
  if (sys::call(SYS_prlimit64, 0, RLIMIT_FSIZE, nullptr, &limit) == 0 && limit.rlim_cur < size)
    return EFBIG;
  if (!leaves_enough(fd, size)) return ENOSPC;
  int64_t result;
  do {
    result = sys::call(SYS_fallocate, fd, 0, 0, size);
  } while (result == -EINTR);
  if (result != 0 && result != -EOPNOTSUPP && result != -ENOSYS && result != -EINVAL)
    return static_cast<int>(-result);
  return write_zeros(fd, size);
}

format::Loss loss_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return format::Loss::kDiskFull;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN: return format::Loss::kNoMemory;
    default: return format::Loss::kFolder;
  }
}

}  // namespace

Session& session() { return g_session; }

uint64_t read_process_start() {
  char text[1024];
  if (sys::read_file("/proc/self/stat", text, sizeof text) <= 0) return 0;
  // The second field is the program's name in parentheses and may hold anything.
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

void Session::lock() { g_fork_wiped.chunk_lock.lock(); }
void Session::unlock() { g_fork_wiped.chunk_lock.unlock(); }

int Session::open(const char* folder, uint32_t pid) {
  const size_t length = strlen(folder);
  if (length == 0 || length >= sizeof folder_ - 64) return ENAMETOOLONG;
  memcpy(folder_, folder, length + 1);
  pid_ = pid;
  process_start_ = read_process_start();
  streams_ = nullptr;
  free_streams_ = nullptr;
  idle_streams_ = nullptr;
  pool_ = nullptr;
  pool_left_ = 0;
  stream_count_ = 0;
  spare_ids_ = spare_target_ = spare_count_ = retired_count_ = 0;
  bytes_written_.store(0, std::memory_order_relaxed);
  sealed_events_ = 0;
  failed_.store(false, std::memory_order_relaxed);
  new (&facts_) Stream;
  new (&bell_) Bell;  // a child of fork() may have been left with it in any state

  char name[4096];
  const uint32_t first = 0;
  const uint64_t start = process_start_;
  int error = EEXIST;
  char* at = nullptr;
  // exec() keeps pid and start time: the top byte tells the programs of one process apart.
  for (uint64_t program = 0; program < 256 && error == EEXIST; ++program) {
    process_start_ = start | program << 56;
    if (path(name, sizeof name, format::kFactsStream, &first, format::kChunkSuffix) == 0)
      return ENAMETOOLONG;
    at = make_file(name, kFactsChunk, &error);
  }
  if (at == nullptr) return error;
  install(facts_, at, kFactsChunk);
  return 0;
}

size_t Session::path(char* buffer, size_t size, uint32_t a, const uint32_t* b,
                     const char* suffix) const {
  const int length = b == nullptr
                         ? snprintf(buffer, size, "%s/%u-%llu.%u%s", folder_, pid_,
                                    static_cast<unsigned long long>(process_start_), a, suffix)
                         : snprintf(buffer, size, "%s/%u-%llu.%u.%u%s", folder_, pid_,
                                    static_cast<unsigned long long>(process_start_), a, *b, suffix);
  return length > 0 && static_cast<size_t>(length) < size ? static_cast<size_t>(length) : 0;
}

char* Session::make_file(const char* name, size_t size, int* error) {
  const int fd = sys::open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (fd < 0) {
    *error = -fd;
    return nullptr;
  }
  char* at = nullptr;
  *error = allocate(fd, size);
  if (*error == 0) {
    at = sys::map(size, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    if (at == nullptr) *error = ENOMEM;
    // MAP_POPULATE would map the pages for reading, and the first write to each would fault. Before
    // Linux 5.14 it does.
    else sys::advise(at, size, MADV_POPULATE_WRITE);
  }
  sys::close(fd);
  if (at == nullptr) {
    sys::unlink(name);
    return nullptr;
  }
  // A child must never write here; see ForkWiped for how it learns that it is one.
  sys::advise(at, size, MADV_DONTFORK);
  bytes_written_.fetch_add(size, std::memory_order_relaxed);
  return at;
}

void Session::install(Stream& stream, char* at, size_t size) {
  auto* header = reinterpret_cast<format::ChunkHeader*>(at);
  memcpy(header->magic, format::kChunkMagic, sizeof header->magic);
  header->version = format::kFormatVersion;
  header->header_bytes = sizeof *header;
  header->capacity = size;
  header->pid = pid_;
  header->stream = stream.files_;
  header->tid = stream.tid_;
  header->ordinal = stream.ordinal_;
  header->process_start = process_start_;
  header->first_sequence = stream.sequence_;
  header->created = ticks();
  header->clock = clock_kind();
  if (stream.chunk_ != nullptr) {
    header->open_call = stream.chunk_->open_call;
    header->open_since = stream.chunk_->open_since;
  }
  __atomic_store_n(&header->checksum,
                   format::crc32c(header, offsetof(format::ChunkHeader, checksum)),
                   __ATOMIC_RELEASE);
  stream.chunk_ = header;
  stream.cursor_ = at + sizeof *header;
  stream.end_ = at + size;
}

// A chunk file for the stream's next ordinal: a spare under its new name, or a fresh one.
char* Session::take_chunk(Stream& stream, size_t bytes, size_t* size) {
  char name[4096];
  const bool first = stream.chunk_ == nullptr;
  if (path(name, sizeof name, stream.files_, &stream.ordinal_, format::kChunkSuffix) == 0) {
    fail(ENAMETOOLONG);
    return nullptr;
  }
  if (!first) {
    Spare spare;
    lock();
    if (spare_count_ > 0) {
      spare = spares_[--spare_count_];
    } else if (spare_target_ < kMaxSpares) {
      spare_target_ += spare_target_ == 0 ? 2 : 1;
      if (spare_target_ > kMaxSpares) spare_target_ = kMaxSpares;
    }
    unlock();
    bell_.ring();
    if (spare.at != nullptr) {
      char from[4096];
      if (path(from, sizeof from, spare.id, nullptr, kSpareSuffix) != 0 &&
          sys::rename(from, name) == 0) {
        *size = kLaterChunk;
        return spare.at;
      }
      sys::unmap(spare.at, kLaterChunk);
    }
  }
  *size = first && bytes + sizeof(format::ChunkHeader) <= kFirstChunk ? kFirstChunk : kLaterChunk;
  int error = 0;
  char* at = make_file(name, *size, &error);
  // Nearly full: a small chunk may still fit, and holds what the program does while somebody cleans
  // up.
  if (at == nullptr && error == ENOSPC && *size > kFirstChunk &&
      bytes + sizeof(format::ChunkHeader) <= kFirstChunk) {
    *size = kFirstChunk;
    at = make_file(name, *size, &error);
  }
  if (at == nullptr) fail(error);
  return at;
}

bool Session::next_chunk(Stream& stream, size_t bytes) {
  if (failed()) return false;
  format::ChunkHeader* const old = stream.chunk_;
  const auto used = static_cast<uint64_t>(stream.cursor_ - reinterpret_cast<char*>(old));
  if (old != nullptr) ++stream.ordinal_;
  size_t size = 0;
  char* const at = take_chunk(stream, bytes, &size);
  if (at == nullptr) {
    if (old != nullptr) --stream.ordinal_;
    return false;
  }
  const size_t old_size = old == nullptr ? 0 : old->capacity;
  install(stream, at, size);
  if (old != nullptr) {
    __atomic_store_n(&old->sealed, used, __ATOMIC_RELEASE);
    retire_chunk(reinterpret_cast<char*>(old), old_size);
  }
  // A reader who has lost the chunks before learns here whose this one is.
  return stream.number_ == stream.files_ || write_owner(stream);
}

// Says in the stream's own file whose records follow.
bool Session::write_owner(Stream& stream) {
  auto* const record = stream.reserve<format::ThreadFact>();
  if (record == nullptr) return false;
  record->time = ticks();
  record->stream = stream.number_;
  record->tid = stream.tid_;
  stream.commit(record, format::Kind::kThread);
  return true;
}

// Unmapping costs an interrupt on every CPU that runs this process: left to the file thread.
void Session::retire_chunk(char* at, size_t size) {
  lock();
  const bool kept = retired_count_ < kMaxRetired;
  if (kept) retired_[retired_count_++] = {at, size};
  unlock();
  if (!kept) sys::unmap(at, size);
}

Stream* Session::new_stream_object() {
  if (free_streams_ != nullptr) {
    Stream* const reused = free_streams_;
    free_streams_ = reused->next_free_;
    return reused;
  }
  if (pool_left_ < sizeof(Stream)) {
    pool_ = sys::map(kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    pool_left_ = pool_ == nullptr ? 0 : kPoolBytes;
    if (pool_ == nullptr) return nullptr;
  }
  auto* const fresh = new (pool_) Stream;
  pool_ += (sizeof(Stream) + 63) & ~size_t{63};
  pool_left_ -= (sizeof(Stream) + 63) & ~size_t{63};
  if (pool_left_ > kPoolBytes) pool_left_ = 0;
  fresh->next_ = streams_;
  streams_ = fresh;
  return fresh;
}

Stream* Session::make_stream(uint32_t tid) {
  if (failed()) return nullptr;
  lock();
  const uint32_t number = ++stream_count_;
  Stream* const idle = idle_streams_;
  if (idle != nullptr) idle_streams_ = idle->next_free_;
  Stream* const stream = idle != nullptr ? idle : new_stream_object();
  if (stream != nullptr && idle == nullptr) {
    Stream* const next = stream->next_;
    stream->~Stream();
    new (stream) Stream;
    stream->next_ = next;
    stream->files_ = number;
  }
  unlock();
  if (stream == nullptr) {
    fail(ENOMEM);
    return nullptr;
  }
  stream->number_ = number;
  stream->tid_ = tid;
  const bool ready = idle != nullptr ? take_over(*stream) : next_chunk(*stream, 0);
  if (!ready) {
    lock();
    stream->next_free_ = idle != nullptr ? idle_streams_ : free_streams_;
    (idle != nullptr ? idle_streams_ : free_streams_) = stream;
    unlock();
    return nullptr;
  }
  stream->in_use_.store(true, std::memory_order_release);
  return stream;
}

// The stream goes on for another thread, whose calls are numbered from 1.
bool Session::take_over(Stream& stream) {
  stream.calls_ = 0;
  stream.current_call_ = 0;
  stream.depth_ = 0;
  stream.dispatches_ = 0;
  return write_owner(stream);
}

void Session::retire_stream(Stream* stream) {
  __atomic_store_n(&stream->chunk_->open_call, uint64_t{0}, __ATOMIC_RELEASE);
  // A thread that was ended while it wrote a record has left it half done.
  const bool whole = !stream->busy();
  if (!whole) seal(*stream);
  lock();
  stream->in_use_.store(false, std::memory_order_relaxed);
  Stream*& list = whole ? idle_streams_ : free_streams_;
  stream->next_free_ = list;
  list = stream;
  unlock();
}

// Nothing more will be appended: gives back what the file does not use.
void Session::seal(Stream& stream) {
  format::ChunkHeader* const chunk = stream.chunk_;
  const auto used = static_cast<uint64_t>(stream.cursor_ - reinterpret_cast<char*>(chunk));
  const size_t size = chunk->capacity;
  __atomic_store_n(&chunk->sealed, used, __ATOMIC_RELEASE);
  char name[4096];
  const bool named =
      path(name, sizeof name, stream.files_, &stream.ordinal_, format::kChunkSuffix) != 0;
  lock();
  sealed_events_ += stream.sequence_;
  stream.sequence_ = 0;
  stream.chunk_ = nullptr;
  stream.cursor_ = stream.end_ = nullptr;
  unlock();
  sys::unmap(chunk, size);
  if (named) sys::call(SYS_truncate, name, used);
}

uint64_t Session::events() {
  lock();
  uint64_t sum = sealed_events_;
  for (const Stream* s = streams_; s != nullptr; s = s->next_) sum += s->events();
  unlock();
  return sum;
}

bool Session::tend() {
  for (;;) {
    Retired retired;
    lock();
    if (retired_count_ > 0) retired = retired_[--retired_count_];
    unlock();
    if (retired.at == nullptr) break;
    sys::unmap(retired.at, retired.size);
  }
  lock();
  const bool missing = !failed() && spare_count_ < spare_target_;
  const uint32_t id = missing ? ++spare_ids_ : 0;
  unlock();
  if (!missing) return false;
  char name[4096];
  int error = 0;
  if (path(name, sizeof name, id, nullptr, kSpareSuffix) == 0) return false;
  // A failure is left to the stream that really needs the chunk: it may have been enough without.
  char* const at = make_file(name, kLaterChunk, &error);
  if (at == nullptr) {
    lock();
    spare_target_ = 0;
    unlock();
    return false;
  }
  lock();
  spares_[spare_count_++] = {at, id};
  const bool more = spare_count_ < spare_target_;
  unlock();
  return more;
}

void Session::remove_spares() {
  for (;;) {
    Spare spare;
    lock();
    spare_target_ = 0;
    if (spare_count_ > 0) spare = spares_[--spare_count_];
    unlock();
    if (spare.at == nullptr) return;
    char name[4096];
    if (path(name, sizeof name, spare.id, nullptr, kSpareSuffix) != 0) sys::unlink(name);
    sys::unmap(spare.at, kLaterChunk);
  }
}

// Recording ends for good; the program goes on.
void Session::fail(int error) {
  count_loss(loss_of(error));
  if (failed_.exchange(true, std::memory_order_relaxed)) return;
  g_state.fetch_and(kReady | kWatched, std::memory_order_relaxed);
  say("error: %s: %s; recording has ended, the program goes on", folder_, strerrordesc_np(error));
}

void* Stream::reserve_slow(size_t bytes) {
  if (reserved_ != 0) return reserve_aside(bytes);
  if (bytes > Session::kMaxRecord) {
    count_loss(format::Loss::kOther);
    return nullptr;
  }
  const Inside inside;
  if (!session().next_chunk(*this, bytes)) return nullptr;
  reserved_ = bytes;
  return cursor_;
}

}  // namespace wavetap::record
