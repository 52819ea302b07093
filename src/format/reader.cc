#include "format/reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/scoped_fd.h"
#include "format/checksum.h"
#include "format/session.h"

namespace wavetap::format {
namespace {

constexpr size_t kMaxNotes = 16;

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// Pairs with the writer's release store: what belongs to the value is visible once the value is.
uint64_t load_acquire(const void* at) {
  return __atomic_load_n(static_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE);
}

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string text(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  return buffer;
}

}  // namespace

std::string_view TextCursor::next() {
  if (rest_.size() < sizeof(Text)) return {};
  Text head;
  std::memcpy(&head, rest_.data(), sizeof head);
  rest_ = rest_.subspan(sizeof head);
  const size_t length = std::min<size_t>(head.bytes, rest_.size());
  const std::string_view out(reinterpret_cast<const char*>(rest_.data()), length);
  rest_ = rest_.subspan(std::min(rest_.size(), (length + 7) & ~size_t{7}));
  return out;
}

void Damage::add(std::string note, uint64_t records, uint64_t bytes) {
  missing_records += records;
  unreadable_bytes += bytes;
  if (notes.size() < kMaxNotes) notes.push_back(std::move(note));
}

void Damage::add(const Damage& other) {
  missing_records += other.missing_records;
  unreadable_bytes += other.unreadable_bytes;
  for (const std::string& note : other.notes)
    if (notes.size() < kMaxNotes) notes.push_back(note);
}

// --- Chunk

Chunk::Chunk(Chunk&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      mapping_(std::exchange(other.mapping_, nullptr)),
      header_(std::exchange(other.header_, nullptr)),
      offset_(other.offset_),
      sequence_(other.sequence_) {}

Chunk& Chunk::operator=(Chunk&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapping_, other.mapping_);
  std::swap(header_, other.header_);
  std::swap(offset_, other.offset_);
  std::swap(sequence_, other.sequence_);
  return *this;
}

Chunk::~Chunk() {
  if (mapping_ != nullptr) munmap(mapping_, bytes_.size());
}

Chunk::Open Chunk::map(const std::string& path, Chunk& chunk, std::string& why) {
  const ScopedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    why = text("cannot be read: %s", std::strerror(errno));
    return Open::kBad;
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return Open::kEmpty;
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (mapping == MAP_FAILED) {
    why = text("cannot be mapped: %s", std::strerror(errno));
    return Open::kBad;
  }
  const Open opened = over({static_cast<const std::byte*>(mapping), size}, chunk, why);
  chunk.mapping_ = mapping;
  return opened;
}

Chunk::Open Chunk::over(std::span<const std::byte> bytes, Chunk& chunk, std::string& why) {
  chunk = Chunk();
  chunk.bytes_ = bytes;
  if (bytes.size() < sizeof(ChunkHeader)) {
    if (all_zero(bytes)) return Open::kEmpty;
    why = text("%zu bytes, too short for a header", bytes.size());
    return Open::kBad;
  }
  if (all_zero(bytes.first(sizeof kChunkMagic))) {
    // Not begun yet; with a record behind it the header has been wiped out.
    if (all_zero(bytes.subspan(sizeof(ChunkHeader),
                               std::min<size_t>(8, bytes.size() - sizeof(ChunkHeader)))))
      return Open::kEmpty;
    why = "its header is gone";
    return Open::kBad;
  }
  const auto* header = reinterpret_cast<const ChunkHeader*>(bytes.data());
  if (std::memcmp(header->magic, kChunkMagic, sizeof kChunkMagic) != 0) {
    why = "not a chunk of a raw trace";
    return Open::kBad;
  }
  // The checksum is written last.
  const uint32_t checksum = __atomic_load_n(&header->checksum, __ATOMIC_ACQUIRE);
  if (checksum == 0 &&
      all_zero(bytes.subspan(sizeof(ChunkHeader),
                             std::min<size_t>(8, bytes.size() - sizeof(ChunkHeader)))))
    return Open::kEmpty;
  if (header->version < kOldestVersion || header->version > kFormatVersion) {
    why = text("format version %u, this build reads %u to %u", header->version, kOldestVersion,
               kFormatVersion);
    return Open::kBad;
  }
  if (crc32c(header, offsetof(ChunkHeader, checksum)) != checksum) {
    why = "the checksum of its header is wrong";
    return Open::kBad;
  }
  if (header->header_bytes < sizeof(ChunkHeader) || header->header_bytes % 8 != 0 ||
      header->header_bytes > bytes.size()) {
    why = text("header of %u bytes in a file of %zu", header->header_bytes, bytes.size());
    return Open::kBad;
  }
  chunk.header_ = header;
  chunk.offset_ = header->header_bytes;
  chunk.sequence_ = header->first_sequence;
  return Open::kGood;
}

void Chunk::rewind() {
  offset_ = header_->header_bytes;
  sequence_ = header_->first_sequence;
}

uint64_t Chunk::open_call() const { return load_acquire(&header_->open_call); }
uint64_t Chunk::open_since() const { return load_acquire(&header_->open_since); }

Chunk::Next Chunk::next(Record& record) {
  // Before the record: once this is set, everything that will ever be in the chunk is.
  const uint64_t sealed = load_acquire(&header_->sealed);
  // Nothing is there any more: a thread that ends cuts its file to what it used.
  if (sealed != 0 && offset_ >= sealed) return Next::kEnd;
  const size_t room = bytes_.size() - offset_;
  if (room < sizeof(RecordHeader)) {
    // The end of the file; a file shorter than it was made has lost its tail.
    if (offset_ < sealed) return Next::kDamaged;
    return bytes_.size() >= header_->capacity ? Next::kEnd : Next::kWaiting;
  }
  const uint64_t word = load_acquire(bytes_.data() + offset_);
  if (word == 0) {
    return sealed == 0 ? Next::kWaiting : Next::kDamaged;
  }
  RecordHeader header;
  std::memcpy(&header, &word, sizeof header);
  const size_t size = size_t{header.words} * 8;
  if (header.kind == Kind::kEnd || size < sizeof(RecordHeader) || size > room ||
      header.sequence != static_cast<uint32_t>(sequence_))
    return Next::kDamaged;
  record.header = header;
  record.sequence = sequence_;
  record.bytes = bytes_.subspan(offset_, size);
  offset_ += size;
  ++sequence_;
  return Next::kRecord;
}

uint64_t Chunk::damaged_bytes() const {
  const uint64_t sealed = load_acquire(&header_->sealed);
  if (sealed > offset_) return sealed - offset_;
  // Unsealed: up to the last byte that was ever written.
  size_t end = bytes_.size();
  while (end > offset_ && bytes_[end - 1] == std::byte{0}) --end;
  return end - offset_;
}

// --- StreamReader

void StreamReader::add(Chunk chunk, std::string name) {
  if (chunks_.empty()) tid_ = chunk.header().tid;
  clock_ = chunk.header().clock;
  const uint32_t ordinal = chunk.header().ordinal;
  auto at = chunks_.end();
  while (at != chunks_.begin() && std::prev(at)->chunk.header().ordinal > ordinal) --at;
  if (static_cast<size_t>(at - chunks_.begin()) < current_) {
    damage_.add(name + ": comes before what was already read", 1, chunk.file_bytes());
    return;
  }
  chunks_.insert(at, {std::move(chunk), std::move(name), false});
}

void StreamReader::begin(Entry& entry) {
  entry.begun = true;
  const uint64_t first = entry.chunk.header().first_sequence;
  if (first > expected_) {
    damage_.add(entry.name + text(": %llu records before it are missing",
                                  static_cast<unsigned long long>(first - expected_)),
                first - expected_, 0);
  } else if (first < expected_) {
    damage_.add(entry.name + ": repeats sequence numbers", 1, 0);
  }
  tail_lost_ = false;  // what it cost is known now
  expected_ = first;
  tid_ = entry.chunk.header().tid;
  stream_ = number_;  // a chunk that another stream goes on in says so first
}

void StreamReader::leave(Entry& entry, Chunk::Next how) {
  bytes_read_ += entry.chunk.offset();
  if (how == Chunk::Next::kDamaged) {
    const uint64_t bytes = entry.chunk.damaged_bytes();
    damage_.add(entry.name + text(": unreadable from offset 0x%zx, %llu bytes",
                                  entry.chunk.offset(), static_cast<unsigned long long>(bytes)),
                0, std::max<uint64_t>(bytes, 1));
    tail_lost_ = true;
  }
  ++current_;
}

Damage StreamReader::damage() const {
  Damage damage = damage_;
  if (tail_lost_) ++damage.missing_records;  // nothing follows it; there was one at least
  return damage;
}

bool StreamReader::next(Record& record) {
  while (current_ < chunks_.size()) {
    Entry& entry = chunks_[current_];
    if (!entry.begun) begin(entry);
    Chunk::Next got = entry.chunk.next(record);
    if (got == Chunk::Next::kWaiting && current_ + 1 < chunks_.size()) {
      // The stream has moved on although this chunk was not sealed. It may have been written to in
      // between.
      got = entry.chunk.next(record);
      if (got == Chunk::Next::kWaiting) got = Chunk::Next::kEnd;
    }
    switch (got) {
      case Chunk::Next::kRecord:
        expected_ = entry.chunk.next_sequence();
        ++records_;
        if (record.header.kind == Kind::kThread && number_ != kFactsStream)
          if (const auto* thread = record.as<ThreadFact>())
            stream_ = thread->stream, tid_ = thread->tid;
        return true;
      case Chunk::Next::kWaiting: return false;
      case Chunk::Next::kEnd:
      case Chunk::Next::kDamaged: leave(entry, got); break;
    }
  }
  return false;
}

void StreamReader::rewind() {
  for (Entry& entry : chunks_) {
    entry.chunk.rewind();
    entry.begun = false;
  }
  current_ = 0;
  expected_ = 0;
  tail_lost_ = false;
  records_ = 0;
  bytes_read_ = 0;
  damage_ = {};
}

// --- SessionReader

Result<SessionReader> SessionReader::open(const std::string& folder) {
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0)
    return errorf("%s: %s; give the folder of a recording", folder.c_str(), std::strerror(errno));
  if (!S_ISDIR(info.st_mode))
    return errorf("%s: not a folder; give the folder of a recording", folder.c_str());
  SessionReader reader;
  reader.folder_ = folder;
  reader.refresh();
  return reader;
}

bool SessionReader::refresh() {
  DIR* listing = opendir(folder_.c_str());
  if (listing == nullptr) return false;
  const std::string_view suffix = kChunkSuffix;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with('.') || !name.ends_with(suffix)) continue;
    if (files_.find(name) == files_.end()) files_.emplace(name, false);
  }
  closedir(listing);

  bool news = false;
  for (auto& [name, done] : files_) {
    if (done) continue;
    Chunk chunk;
    std::string why;
    switch (Chunk::map(folder_ + "/" + name, chunk, why)) {
      case Chunk::Open::kEmpty: break;  // asked again next time
      case Chunk::Open::kBad:
        damage_.add(name + ": " + why, 0, std::max<uint64_t>(chunk.file_bytes(), 1));
        done = true;
        break;
      case Chunk::Open::kGood: {
        file_bytes_ += chunk.file_bytes();
        StreamReader& stream = stream_of(chunk.header());
        stream.add(std::move(chunk), name);
        done = true;
        news = true;
        break;
      }
    }
  }
  if (news) regroup();
  return news;
}

StreamReader& SessionReader::stream_of(const ChunkHeader& header) {
  const ProcessId process{header.pid, header.process_start};
  std::unique_ptr<StreamReader>& stream = streams_[{process, header.stream}];
  if (stream == nullptr) stream = std::make_unique<StreamReader>(process, header.stream);
  return *stream;
}

void SessionReader::regroup() {
  processes_.clear();
  for (const auto& [key, stream] : streams_) {
    if (processes_.empty() || processes_.back().id != key.first)
      processes_.push_back({key.first, {}});
    processes_.back().streams.push_back(stream.get());
  }
}

Damage SessionReader::total_damage() const {
  Damage total = damage_;
  for (const auto& [key, stream] : streams_) total.add(stream->damage());
  if (total.unreadable_bytes != 0 && total.missing_records == 0) total.missing_records = 1;
  return total;
}

}  // namespace wavetap::format
