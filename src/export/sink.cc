#include "export/sink.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "util/file.h"
#include "util/text.h"

namespace wavetap::exporter {

Result<Sink> Sink::open(const std::string& path) {
  Sink sink;
  sink.path_ = path;
  if (path == "-") {
    sink.file_ = stdout;
    return sink;
  }
  if (!util::is_special(path)) sink.temporary_ = path + ".part-" + std::to_string(getpid());
  const std::string& written = sink.temporary_.empty() ? path : sink.temporary_;
  if (path.ends_with(".gz")) sink.gzip_ = gzopen(written.c_str(), "wb6");
  else sink.file_ = std::fopen(written.c_str(), "wb");
  if (sink.gzip_ == nullptr && sink.file_ == nullptr)
    return errorf("%s: cannot be written: %s; name another file with -o", path.c_str(),
                  std::strerror(errno));
  return sink;
}

Sink Sink::in_memory() {
  Sink sink;
  sink.in_memory_ = true;
  return sink;
}

Sink::Sink(Sink&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::move(other.buffer_)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)),
      file_(std::exchange(other.file_, nullptr)),
      gzip_(std::exchange(other.gzip_, nullptr)),
      in_memory_(other.in_memory_),
      written_(other.written_),
      status_(std::move(other.status_)) {}

Sink::~Sink() {
  if (gzip_ != nullptr) gzclose(static_cast<gzFile>(gzip_));
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

namespace {

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x80 &&
         c != '"' && c != '\\';
}

// Length of what JSON takes as it stands at the start of `text`; eight characters at a time.
size_t plain_length(std::string_view text) {
  constexpr uint64_t kEach = 0x0101010101010101u;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, sizeof word);
    const uint64_t quote = word ^ (kEach * '"'), backslash = word ^ (kEach * '\\');
    // The high bit of a byte is set when it is below 0x20, equal to one of the two, or not ASCII.
    const uint64_t special = (word - kEach * 0x20) | (quote - kEach) | (backslash - kEach) | word;
    if ((special & (kEach * 0x80)) != 0) break;
  }
  while (i < text.size() && is_plain(text[i])) ++i;
  return i;
}

}  // namespace

void Sink::json_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  put('"');
  for (size_t i = 0; i < text.size();) {
    // Nearly every text is one plain stretch.
    const size_t end = i + plain_length(text.substr(i));
    if (end > i) write(text.substr(i, end - i));
    i = end;
    if (i == text.size()) break;
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      put('\\');
      put(static_cast<char>(c));
      ++i;
    } else if (c < 0x20) {
      write("\\u00");
      put(kHex[c >> 4]);
      put(kHex[c & 15]);
      ++i;
    } else if (const size_t length = util::utf8_length(text.substr(i)); length > 0) {
      write(text.substr(i, length));
      i += length;
    } else {
      write(util::kReplacementCharacter);
      ++i;
    }
  }
  put('"');
}

void Sink::real(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  const std::string_view digits(text, static_cast<size_t>(end - text));
  write(digits);
  if (digits.find_first_of(".en") == std::string_view::npos) write(".0");
}

void Sink::json_number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return write("null");
  if (std::abs(value) <= kExact && value == std::trunc(value))
    return integer(static_cast<int64_t>(value));
  real(value);
}

void Sink::make_room(size_t bytes) {
  if (!in_memory_ && size_ > 0) flush();
  if (capacity_ - size_ >= bytes) return;
  capacity_ = std::max(in_memory_ ? capacity_ * 2 : kBufferBytes, size_ + bytes);
  std::unique_ptr<char[]> larger = std::make_unique_for_overwrite<char[]>(capacity_);
  if (size_ > 0) std::memcpy(larger.get(), buffer_.get(), size_);
  buffer_ = std::move(larger);
}

void Sink::flush() {
  write_through({buffer_.get(), size_});
  size_ = 0;
}

void Sink::write_through(std::string_view bytes) {
  if (bytes.empty()) return;
  written_ += bytes.size();
  const bool ok =
      gzip_ != nullptr
          ? gzwrite(static_cast<gzFile>(gzip_), bytes.data(), static_cast<unsigned>(bytes.size())) >
                0
          : file_ != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
  if (!ok && status_.ok())
    status_ = errorf("%s: writing failed: %s; free some space or name another file with -o",
                     path_.c_str(), std::strerror(errno));
}

Status Sink::finish() {
  if (in_memory_) return {};
  flush();
  bool closed = true;
  if (gzip_ != nullptr)
    closed = gzclose(static_cast<gzFile>(std::exchange(gzip_, nullptr))) == Z_OK;
  if (file_ == stdout) {
    closed = std::fflush(stdout) == 0;
    file_ = nullptr;
  } else if (file_ != nullptr) {
    closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  }
  if (!closed && status_.ok())
    status_ = errorf("%s: writing failed: %s; free some space or name another file with -o",
                     path_.c_str(), std::strerror(errno));
  if (status_.ok() && !temporary_.empty()) {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
      return errorf("%s: cannot be put in place: %s; name another file with -o", path_.c_str(),
                    std::strerror(errno));
    temporary_.clear();
  }
  return status_;
}

}  // namespace wavetap::exporter
