// The layout of a captured dispatch, for those who write it and those who read it. docs/capture-format.md
// describes it in words.
//
//   FileHeader  Record  Record  …
//
// A file only ever grows: what a killed writer left is readable up to its last whole record. The
// same layout serves the file that a process writes while it runs (nothing compressed) and the one that
// is kept (`.wtcap`, records compressed with zstd where that helps).
//
// Memory is kept as pages of 4 KiB. The pages of all kPages records are numbered from 1 in the order they
// come; number 0 is the page of zeros, which is never stored. All numbers are little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavetap::format {

inline constexpr char kCaptureMagic[8] = {'W', 'T', 'C', 'A', 'P', '\r', '\n', '\0'};
// A reader refuses files of a higher version. Types of records that it does not know it skips.
inline constexpr uint32_t kCaptureVersion = 2;  // 1 had no groups
inline constexpr uint32_t kCapturePageBytes = 4096;
// Of one record, unpacked: bounds what a reader must hold at once.
inline constexpr uint64_t kMostCaptureRecordBytes = 4u << 20;
inline constexpr uint32_t kCapturePagesPerRecord = 256;

struct CaptureFileHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // where the first record begins
  uint64_t checksum;      // capture_checksum() of the fields above
};
static_assert(sizeof(CaptureFileHeader) == 24);

enum class CaptureRecordType : uint32_t {
  kPages = 1,       // pages, nothing else
  kDispatch = 2,    // CaptureDispatch, texts: kernel, model, marketing name, program
  kRegion = 3,      // CaptureRegion
  kPageRuns = 4,    // CapturePageRuns, then CapturePageRun[]
  kCodeObject = 5,  // CaptureCodeObject, text: URI
  kBeforeDone = 6,  // CaptureMark: the state before the dispatch is complete
  kEnd = 7,         // CaptureEnd, text: the fault, if there was one; the state after it is complete
  kFacts = 8,       // CaptureMark, then pairs of texts: key, value
  kTouched = 9,     // CaptureMark, then CaptureTouchedPage[]
  kGroup = 10,      // CaptureGroupItem and its payload, one after the other
};

enum class CaptureCodec : uint32_t { kStored = 0, kZstd = 1 };

// Followed by stored_bytes of payload.
struct CaptureRecordHeader {
  uint32_t magic;  // kCaptureRecordMagic
  CaptureRecordType type;
  CaptureCodec codec;
  uint32_t reserved;
  uint64_t stored_bytes;
  uint64_t raw_bytes;  // of the payload once unpacked
  uint64_t checksum;   // of the fields above and the stored payload
};
static_assert(sizeof(CaptureRecordHeader) == 40);
inline constexpr uint32_t kCaptureRecordMagic = 0x31435457;  // "WTC1"

// A record inside a group: small ones, which are compressed together. Neither pages nor groups.
struct CaptureGroupItem {
  CaptureRecordType type;
  uint32_t bytes;
};
static_assert(sizeof(CaptureGroupItem) == 8);

// Bits of CaptureDispatch::flags.
inline constexpr uint32_t kCaptureUnordered = 1 << 0;    // other queues ran meanwhile
inline constexpr uint32_t kCaptureCooperative = 1 << 1;  // every workgroup was resident at once
inline constexpr uint32_t kCaptureSramEcc = 1 << 2;  // a load of half a register clears the rest
// Only pages that the kernel touches are kept: pages that no run names are unknown, not zeros.
inline constexpr uint32_t kCaptureOnlyTouched = 1 << 3;
inline constexpr uint32_t kCaptureRedacted = 1 << 4;  // bytes that it never reads are zeros

// Facts whose keys have this and an allocation's address in decimal: how many bytes of it were asked for.
inline constexpr char kCaptureRequestedFact[] = "requested.";
// The same for memory that appeared while the dispatch ran: how many bytes there are.
inline constexpr char kCaptureAllocatedFact[] = "allocated.";
// The same for regions whose memory is that of another one: its address there, in decimal.
inline constexpr char kCaptureAliasFact[] = "alias.";

// The same for what the program got from HIP, where that is more than plain device memory: "BYTES pool",
// "BYTES managed" or "BYTES pinned".
inline constexpr char kCaptureMadeFact[] = "made.";

struct CaptureDispatch {
  uint32_t capture;  // number within the file, from 1
  uint32_t flags;
  uint64_t launch;     // which of the launches that matched the selection, from 1
  uint64_t dispatch;   // which of all dispatches of the process, from 1
  uint8_t packet[64];  // AQL, as the program wrote it
  uint64_t packet_address;
  uint64_t queue_address;  // amd_queue_t
  uint64_t dispatch_id;
  uint64_t kernel_object;
  uint64_t kernarg;
  uint32_t grid_size[3];  // work-items
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t group_segment_bytes;
  uint32_t private_segment_bytes;  // per lane
  uint32_t queue;                  // its number
  uint32_t gpu;                    // its index, from 0
  uint32_t compute_units;
  uint32_t xccs;
  uint16_t target[3];  // gfx major, minor, stepping
  uint16_t reserved1;
  uint32_t pid;
  uint32_t reserved2[2];
  int64_t wall_ns;  // since 1970
};
static_assert(sizeof(CaptureDispatch) == 200);

enum class CaptureMemoryKind : uint32_t {
  kUnknown = 0,
  kVram = 1,
  kGtt = 2,       // host memory from the driver
  kUserptr = 3,   // the program's own memory, pinned
  kDoorbell = 4,  // never has contents
  kMmio = 5,      // never has contents
  kSvm = 6,       // the program's own memory, managed
};

enum class CaptureMemoryOrigin : uint32_t {
  kUnknown = 0,
  kDriver = 1,
  kImported = 2,  // from another process or API
  kBound = 3,     // mapped into a reserved range (VMM)
  kSvm = 4,
};

// Bits of CaptureRegion::rights.
inline constexpr uint32_t kCaptureReadable = 1 << 0;
inline constexpr uint32_t kCaptureWritable = 1 << 1;
inline constexpr uint32_t kCaptureExecutable = 1 << 2;
// Bits of CaptureRegion::flags.
inline constexpr uint32_t kCaptureNoContents = 1 << 0;  // not memory
inline constexpr uint32_t kCaptureUnreadable = 1 << 1;  // parts were gone from the host: zeros here
inline constexpr uint32_t kCaptureFineGrained = 1 << 2;  // coherent while a kernel runs

// A range of addresses the GPU could use.
struct CaptureRegion {
  uint32_t capture;
  uint32_t region;  // number within the capture, from 0
  uint64_t address;
  uint64_t size_bytes;
  CaptureMemoryKind kind;
  CaptureMemoryOrigin origin;
  uint32_t rights;
  uint32_t flags;
  uint64_t allocation_address;  // of the allocation it belongs to; 0: not known
  uint64_t allocation_bytes;
};
static_assert(sizeof(CaptureRegion) == 56);

enum class CapturePhase : uint32_t {
  kBefore = 0,      // pages of a region before the dispatch; pages not named are zeros
  kAfter = 1,       // pages that differ afterwards
  kCodeObject = 2,  // pages of a code object's file; `region` is its number
};

struct CapturePageRuns {
  uint32_t capture;
  uint32_t region;
  CapturePhase phase;
  uint32_t count;
};
// Pages first_page … first_page + count - 1 hold pages id, id + 1, …; with id 0 all hold zeros.
struct CapturePageRun {
  uint32_t first_page;
  uint32_t count;
  uint32_t id;
};
static_assert(sizeof(CapturePageRuns) == 16 && sizeof(CapturePageRun) == 12);

// What a run of the dispatch touched of a page: a bit per byte.
struct CaptureTouchedPage {
  uint64_t address;
  uint64_t read[kCapturePageBytes / 64];
  uint64_t written[kCapturePageBytes / 64];
};
static_assert(sizeof(CaptureTouchedPage) == 1032);

// A code object that was loaded for the GPU: its ELF file, as pages.
struct CaptureCodeObject {
  uint32_t capture;
  uint32_t object;      // number within the capture, from 0
  uint64_t load_delta;  // loaded address - linked address
  uint64_t size_bytes;
};
static_assert(sizeof(CaptureCodeObject) == 24);

struct CaptureMark {
  uint32_t capture;
  uint32_t reserved;
};

// Bits of CaptureEnd::flags.
inline constexpr uint32_t kCaptureFaulted = 1 << 0;
inline constexpr uint32_t kCaptureCancelled = 1 << 1;
inline constexpr uint32_t kCaptureEndUnordered = 1 << 2;  // other queues ran before it ended

struct CaptureEnd {
  uint32_t capture;
  uint32_t flags;
  uint64_t begin_ticks;  // 100 MHz
  uint64_t end_ticks;
};
static_assert(sizeof(CaptureEnd) == 24);

// Texts are a u32 length and that many bytes.

// Four lanes of multiply and rotate over 8-byte words; the rest padded with zeros. Also tells pages
// apart, where equal ones are then compared byte by byte.
inline uint64_t capture_checksum(const void* data, size_t bytes, uint64_t seed = 0) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  const auto mix = [](uint64_t lane, uint64_t word) {
    return std::rotl((lane ^ word) * kFactor, 29);
  };
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t lanes[4] = {seed ^ bytes, seed + kFactor, seed ^ (kFactor << 1), ~seed};
  size_t left = bytes;
  for (; left >= 32; left -= 32, at += 32) {
    uint64_t words[4];
    std::memcpy(words, at, sizeof words);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  uint64_t words[4] = {};
  if (left > 0) std::memcpy(words, at, left);
  uint64_t sum = bytes;
  for (int i = 0; i < 4; ++i) sum = mix(sum, mix(lanes[i], words[i]));
  sum ^= sum >> 32;
  return sum * kFactor ^ (sum >> 29);
}

// Of a record; header.checksum itself does not count.
inline uint64_t capture_record_checksum(const CaptureRecordHeader& header, const void* payload) {
  return capture_checksum(payload, header.stored_bytes,
                          capture_checksum(&header, offsetof(CaptureRecordHeader, checksum)));
}

inline CaptureFileHeader make_capture_header() {
  CaptureFileHeader header{};
  std::memcpy(header.magic, kCaptureMagic, sizeof header.magic);
  header.version = kCaptureVersion;
  header.header_bytes = sizeof header;
  header.checksum = capture_checksum(&header, offsetof(CaptureFileHeader, checksum));
  return header;
}

}  // namespace wavetap::format
