#include "replay/capture_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/capture_writer.h"
#include "replay/capture_pack.h"
#include "replay/captured_kernel.h"
#include "replay/captured_memory.h"
#include "replay/half.h"
#include "replay/touched_memory.h"
#include "replay/verify.h"

namespace wavetap::replay {
namespace {

using capture::CaptureWriter;
using capture::PageRuns;
using capture::Payload;
using format::CapturePhase;
using format::CaptureRecordType;
using format::kCapturePageBytes;

constexpr uint64_t kBase = 0x4100000000;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/wavetap-capture-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<std::byte> page_of(uint8_t first) {
  std::vector<std::byte> page(kCapturePageBytes);
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<std::byte>(first + i % 7);
  return page;
}

// A region of five pages: A, zeros, A, B, zeros. Afterwards B is C and the last page is A.
void write_capture(CaptureWriter& writer, uint32_t number, bool with_after = true) {
  ASSERT_EQ(writer.begin(), 0);
  format::CaptureDispatch dispatch{};
  dispatch.capture = number;
  dispatch.launch = 7;
  dispatch.grid_size[0] = 64;
  dispatch.target[0] = 10;
  dispatch.target[1] = 3;
  Payload head(dispatch);
  for (const char* text : {"k(float*)", "model", "Marketing", "./program"}) head.text(text);
  writer.put(CaptureRecordType::kDispatch, head);
  format::CaptureRegion region{};
  region.capture = number;
  region.address = kBase;
  region.size_bytes = 5 * kCapturePageBytes;
  region.kind = format::CaptureMemoryKind::kVram;
  region.rights = format::kCaptureReadable | format::kCaptureWritable;
  PageRuns before;
  const std::vector<std::byte> zeros(kCapturePageBytes);
  const std::vector<std::byte> a = page_of(1);
  before.add(0, writer.put_page(a.data()));
  EXPECT_EQ(writer.put_page(zeros.data()), 0u);
  before.add(2, writer.put_page(a.data()));
  before.add(3, writer.put_page(page_of(2).data()));
  writer.put(CaptureRecordType::kRegion, Payload(region));
  writer.put_runs(number, 0, CapturePhase::kBefore, before);
  writer.put(CaptureRecordType::kBeforeDone, Payload(format::CaptureMark{number, 0}));
  EXPECT_EQ(writer.end(), 0);
  if (!with_after) return;
  ASSERT_EQ(writer.begin(), 0);
  PageRuns after;
  after.add(3, writer.put_page(page_of(3).data()));
  after.add(4, writer.put_page(a.data()));
  writer.put_runs(number, 0, CapturePhase::kAfter, after);
  Payload end(format::CaptureEnd{number, 0, 10, 20});
  end.text("");
  writer.put(CaptureRecordType::kEnd, end);
  EXPECT_EQ(writer.end(), 0);
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

void expect_content(const CaptureFile& file, const Capture& capture) {
  const std::vector<std::byte> zeros(kCapturePageBytes);
  const std::vector<std::byte> before[] = {page_of(1), zeros, page_of(1), page_of(2), zeros};
  const std::vector<std::byte> after[] = {page_of(1), zeros, page_of(1), page_of(3), page_of(1)};
  for (uint64_t page = 0; page < 5; ++page) {
    const uint64_t address = kBase + page * kCapturePageBytes;
    EXPECT_EQ(captured_bytes(file, capture, State::kBefore, address, kCapturePageBytes),
              before[page]);
    EXPECT_EQ(captured_bytes(file, capture, State::kAfter, address, kCapturePageBytes),
              after[page]);
  }
}

TEST(CaptureFile, WhatWasWrittenIsRead) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  const auto file = CaptureFile::open(folder / "raw");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ((*file)->damage(), "");
  ASSERT_EQ((*file)->captures().size(), 1u);
  const Capture& capture = (*file)->captures()[0];
  EXPECT_EQ(capture.kernel, "k(float*)");
  EXPECT_EQ(capture.dispatch.launch, 7u);
  EXPECT_TRUE(capture.has_before);
  EXPECT_TRUE(capture.has_after);
  expect_content(**file, capture);
}

TEST(CaptureFile, IsKnownByItsNameOrHowItBegins) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  EXPECT_TRUE(is_capture_file(folder / "raw"));
  EXPECT_TRUE(is_capture_file(folder / "missing.wtcap"));  // what opens it says what is wrong
  EXPECT_FALSE(is_capture_file(folder / "missing"));
  EXPECT_FALSE(is_capture_file(folder / ""));
  std::ofstream(folder / "short") << "WTCAP\r\n";
  EXPECT_FALSE(is_capture_file(folder / "short"));
  std::ofstream(folder / "script") << "#!/bin/sh\nexit 0\n";
  EXPECT_FALSE(is_capture_file(folder / "script"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(is_capture_file(folder / "pipe"));  // and does not wait for a writer
}

TEST(CaptureFile, EqualPagesAreStoredOnceAndShared) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  EXPECT_EQ(writer.pages(), 3u);  // A, B, C
  write_capture(writer, 2);
  EXPECT_EQ(writer.pages(), 3u);
  const auto file = CaptureFile::open(folder / "raw");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->page_count(), 3u);
  ASSERT_EQ((*file)->captures().size(), 2u);
  expect_content(**file, (*file)->captures()[1]);
}

TEST(CaptureFile, SeveralFilesArePackedIntoOne) {
  const Folder folder;
  CaptureWriter first(folder / "first");
  write_capture(first, 1);
  write_capture(first, 2);
  CaptureWriter second(folder / "second");
  write_capture(second, 1, /*with_after=*/false);
  const std::vector<std::string> inputs = {folder / "first", folder / "second"};
  const auto packed = pack_captures(inputs, folder / "packed");
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_EQ(packed->captures, 3u);
  EXPECT_LT(packed->file_bytes, packed->raw_bytes / 4);
  const auto file = CaptureFile::open(folder / "packed");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->damage(), "");
  ASSERT_EQ((*file)->captures().size(), 3u);
  for (int i = 0; i < 2; ++i) expect_content(**file, (*file)->captures()[static_cast<size_t>(i)]);
  const Capture& last = (*file)->captures()[2];
  EXPECT_EQ(last.dispatch.capture, 3u);
  EXPECT_TRUE(last.has_before);
  EXPECT_FALSE(last.has_after);
  EXPECT_EQ(captured_bytes(**file, last, State::kBefore, kBase, kCapturePageBytes), page_of(1));
}

// A fact for each of a hundred thousand allocations is more than a record may hold.
TEST(CaptureFile, AnyNumberOfFactsIsRead) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  capture::FactList facts(1);
  constexpr int kFacts = 150'000;
  for (int i = 0; i < kFacts; ++i)
    facts.add(format::kCaptureRequestedFact + std::to_string(kBase + i * kCapturePageBytes),
              "4096");
  facts.add("long", std::string(format::kMostCaptureRecordBytes, 'x'));
  ASSERT_EQ(writer.begin(), 0);
  writer.put(facts);
  ASSERT_EQ(writer.end(), 0);
  const auto expect_facts = [&](const std::string& path) {
    const auto file = CaptureFile::open(path);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ((*file)->damage(), "");
    ASSERT_EQ((*file)->captures().size(), 1u);
    EXPECT_EQ((*file)->captures()[0].facts.size(), kFacts + 1u);
    expect_content(**file, (*file)->captures()[0]);
  };
  expect_facts(folder / "raw");
  const std::vector<std::string> inputs = {folder / "raw"};
  ASSERT_TRUE(pack_captures(inputs, folder / "packed").ok());
  expect_facts(folder / "packed");
}

TEST(CaptureFile, ARecordThatNobodyCouldReadIsNotWritten) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  ASSERT_EQ(writer.begin(), 0);
  writer.put(CaptureRecordType::kFacts, std::string(format::kMostCaptureRecordBytes + 1, 'x'));
  EXPECT_EQ(writer.end(), EMSGSIZE);
  const auto file = CaptureFile::open(folder / "raw");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->damage(), "");
}

// Pages of numbers that do not compress, and of one that does.
std::vector<std::byte> noise(uint64_t seed) {
  std::vector<std::byte> page(kCapturePageBytes);
  for (std::byte& byte : page) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(seed >> 56);
  }
  return page;
}

void write_large(CaptureWriter& writer, const std::function<std::vector<std::byte>(uint32_t)>& page,
                 uint32_t pages) {
  ASSERT_EQ(writer.begin(), 0);
  format::CaptureDispatch dispatch{};
  dispatch.capture = 1;
  Payload head(dispatch);
  for (const char* text : {"large(float*)", "model", "Marketing", "./program"}) head.text(text);
  writer.put(CaptureRecordType::kDispatch, head);
  capture::FactList facts(1);
  facts.add("host_stack.00", "/bin/program+0x10");
  writer.put(facts);
  format::CaptureRegion region{};
  region.capture = 1;
  region.address = kBase;
  region.size_bytes = pages * uint64_t{kCapturePageBytes};
  PageRuns before;
  for (uint32_t i = 0; i < pages; ++i) before.add(i, writer.put_page(page(i).data()));
  for (uint32_t i = 0; i < pages; ++i) {
    EXPECT_TRUE(writer.holds(before.id_of(i), page(i).data())) << i;
    EXPECT_FALSE(writer.holds(before.id_of(i), page(i + 1).data())) << i;
  }
  writer.put(CaptureRecordType::kRegion, Payload(region));
  writer.put_runs(1, 0, CapturePhase::kBefore, before);
  writer.put(CaptureRecordType::kBeforeDone, Payload(format::CaptureMark{1, 0}));
  EXPECT_EQ(writer.end(), 0);
}

// Whether compressed by several threads or kept as it is: each page is where it was.
TEST(CaptureFile, ALargeFileIsPackedOrKept) {
  constexpr uint32_t kPages = 1500;
  for (const bool compresses : {false, true}) {
    const Folder folder;
    CaptureWriter writer(folder / "raw");
    const auto page = [&](uint32_t i) {
      std::vector<std::byte> bytes = noise(i);
      if (compresses) std::memset(bytes.data() + 64, 7, bytes.size() - 64);
      return bytes;
    };
    write_large(writer, page, kPages);
    PackOptions options;
    options.name_frame = [](const std::string& place) { return "name of " + place; };
    const std::vector<std::string> inputs = {folder / "raw"};
    const auto packed = pack_captures(inputs, folder / "packed", options);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    EXPECT_EQ(packed->captures, 1u);
    EXPECT_EQ(packed->first_kernel, "large(float*)");
    EXPECT_EQ(std::filesystem::exists(folder / "raw"), compresses);
    EXPECT_EQ(packed->file_bytes, std::filesystem::file_size(folder / "packed"));
    if (compresses) {
      EXPECT_LT(packed->file_bytes, packed->raw_bytes / 10);
    }
    const auto file = CaptureFile::open(folder / "packed");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ((*file)->damage(), "");
    const Capture& capture = (*file)->captures()[0];
    EXPECT_TRUE(capture.has_before);
    EXPECT_EQ(capture.facts.at("host_name.00"), "name of /bin/program+0x10");
    for (uint32_t i = 0; i < kPages; i += 7)
      EXPECT_EQ(captured_bytes(**file, capture, State::kBefore,
                               kBase + uint64_t{i} * kCapturePageBytes, kCapturePageBytes),
                page(i));
  }
}

// Wherever a writer was killed: what is whole is there, and nothing is invented.
TEST(CaptureFile, IsReadableUpToWhereItEnds) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  const std::vector<std::byte> whole = bytes_of(folder / "raw");
  size_t with_before = 0;
  for (size_t size = 0; size <= whole.size(); size += 1 + size % 13) {
    const auto file = CaptureFile::over(std::span(whole).first(size), "cut");
    if (!file.ok()) {
      EXPECT_LT(size, sizeof(format::CaptureFileHeader));
      continue;
    }
    for (const Capture& capture : (*file)->captures()) {
      if (!capture.has_before) continue;
      ++with_before;
      EXPECT_EQ(captured_bytes(**file, capture, State::kBefore, kBase + 3 * kCapturePageBytes,
                               kCapturePageBytes),
                page_of(2));
      if (size < whole.size()) {
        EXPECT_FALSE(capture.has_after);
      }
    }
  }
  EXPECT_GT(with_before, 10u);
}

// No changed byte goes unnoticed.
TEST(CaptureFile, DamageIsFound) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  std::vector<std::byte> bytes = bytes_of(folder / "raw");
  for (size_t at = 0; at < bytes.size(); at += 1 + at % 11) {
    bytes[at] ^= std::byte{0x10};
    const auto file = CaptureFile::over(bytes, "flipped");
    EXPECT_TRUE(!file.ok() || !(*file)->damage().empty()) << "byte " << at;
    bytes[at] ^= std::byte{0x10};
  }
}

std::vector<std::byte> with_version(std::vector<std::byte> bytes, uint32_t version) {
  format::CaptureFileHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  header.version = version;
  header.checksum =
      format::capture_checksum(&header, offsetof(format::CaptureFileHeader, checksum));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(CaptureFile, AFileOfALaterVersionIsRefusedByThatReason) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  const std::vector<std::byte> bytes =
      with_version(bytes_of(folder / "raw"), format::kCaptureVersion + 1);
  const auto file = CaptureFile::over(bytes, "later");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("use a newer wavetap"), std::string::npos);
}

TEST(CaptureFile, AFileOfTheFirstVersionIsRead) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  const std::vector<std::byte> bytes = with_version(bytes_of(folder / "raw"), 1);
  const auto file = CaptureFile::over(bytes, "first");
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_content(**file, (*file)->captures().at(0));
}

TEST(CaptureFile, SmallRecordsArePackedTogether) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  const std::vector<std::string> inputs = {folder / "raw"};
  ASSERT_TRUE(pack_captures(inputs, folder / "packed").ok());
  const std::vector<std::byte> bytes = bytes_of(folder / "packed");
  std::vector<CaptureRecordType> types;
  const auto walked = walk_records(
      bytes, "packed", [&](const CaptureRecord& record) { types.push_back(record.type); });
  ASSERT_TRUE(walked.ok());
  EXPECT_EQ(types, (std::vector{CaptureRecordType::kPages, CaptureRecordType::kGroup}));
  const auto file = CaptureFile::over(bytes, "packed");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->damage(), "");
  expect_content(**file, (*file)->captures().at(0));
}

// Whatever the host's kernel tells of what was written: at once, page by page, or nothing.
class CapturedMemoryWith : public ::testing::TestWithParam<PrivatePages::Source> {};
INSTANTIATE_TEST_SUITE_P(AllSources, CapturedMemoryWith,
                         ::testing::Values(PrivatePages::Source::kNone,
                                           PrivatePages::Source::kEntries,
                                           PrivatePages::Source::kScan));

TEST_P(CapturedMemoryWith, HoldsTheStateBeforeAndGoesBackToIt) {
  const Folder folder;
  CaptureWriter writer(folder / "raw");
  write_capture(writer, 1);
  const auto file = CaptureFile::open(folder / "raw");
  ASSERT_TRUE(file.ok());
  const Capture& capture = (*file)->captures()[0];
  const auto memory = CapturedMemory::load(**file, capture, GetParam());
  ASSERT_TRUE(memory.ok());
  const std::span<std::byte> bytes = (*memory)->bytes({kBase}, 5 * kCapturePageBytes);
  ASSERT_EQ(bytes.size(), 5 * kCapturePageBytes);
  EXPECT_EQ(std::memcmp(bytes.data(), page_of(1).data(), kCapturePageBytes), 0);
  const auto verdict_of = [&] {
    return verify(**file, capture, CapturedKernel(), **memory, Tolerance());
  };
  const uint64_t untouched = verdict_of().differing;
  EXPECT_EQ(untouched, 2 * kCapturePageBytes);  // every byte of the two pages that changed
  std::memcpy(bytes.data() + 3 * kCapturePageBytes, page_of(3).data(), kCapturePageBytes);
  std::memcpy(bytes.data() + 4 * kCapturePageBytes, page_of(1).data(), kCapturePageBytes);
  EXPECT_TRUE(verdict_of().equal());
  bytes[17] ^= std::byte{1};
  const Verdict wrong = verdict_of();
  EXPECT_EQ(wrong.differing, 1u);
  ASSERT_EQ(wrong.buffers.size(), 1u);
  EXPECT_EQ(wrong.buffers[0].first_index, 17u);
  (*memory)->restore();
  EXPECT_EQ(verdict_of().differing, untouched);
  EXPECT_EQ((*memory)->lookup({kBase + 5 * kCapturePageBytes}).end, 0u);
}

// A record of 24 bytes may claim 4 GiB: nothing is made of them unless the file begins with a page.
TEST(CaptureFile, CodeObjectsThatAreOnlyClaimed) {
  const format::CaptureFileHeader header = format::make_capture_header();
  const auto file = CaptureFile::over(std::as_bytes(std::span(&header, 1)), "empty");
  ASSERT_TRUE(file.ok());
  CapturedCodeObject object;
  object.record.size_bytes = 2 * kCapturePageBytes;
  EXPECT_TRUE((*file)->code_object_bytes(object).empty());
  object.pages = {{.first_page = 0, .count = 1, .id = 0}, {.first_page = 1, .count = 1, .id = 1}};
  EXPECT_TRUE((*file)->code_object_bytes(object).empty());
  object.pages = {{.first_page = 0, .count = 1, .id = 1}};
  EXPECT_EQ((*file)->code_object_bytes(object).size(), 2 * kCapturePageBytes);
}

// A descriptor says how many there are, and may say anything.
TEST(TouchedMemory, OfArgumentsIsNoMoreThanThereCanBe) {
  Capture capture;
  CapturedRegion region;
  region.record.address = kBase;
  region.record.size_bytes = uint64_t{8} << 30;
  region.record.rights = format::kCaptureReadable | format::kCaptureWritable;
  capture.regions.push_back(region);
  capture.dispatch.kernarg = kBase;
  const format::CaptureFileHeader header = format::make_capture_header();
  const auto file = CaptureFile::over(std::as_bytes(std::span(&header, 1)), "empty");
  ASSERT_TRUE(file.ok());
  const auto memory = CapturedMemory::load(**file, capture);
  ASSERT_TRUE(memory.ok());
  codeobj::Kernel described;
  CapturedKernel kernel;
  kernel.kernel = &described;
  for (const uint64_t said : {uint64_t{80}, uint64_t{UINT32_MAX}}) {
    described.kernarg_bytes = static_cast<decltype(described.kernarg_bytes)>(said);
    TouchedMemory touched;
    find_touched(capture, kernel, **memory, {}, touched);
    EXPECT_GE(touched.pages().size(), 1u);
    EXPECT_LE(touched.pages().size(), 256u) << said;
  }
}

TEST(Verify, Tolerances) {
  const auto equal = [](auto a, auto b, const char* element, const std::string& text) {
    const auto tolerance = parse_tolerances(text);
    EXPECT_TRUE(tolerance.ok()) << text;
    return is_equal(element, reinterpret_cast<const std::byte*>(&a),
                    reinterpret_cast<const std::byte*>(&b), *tolerance);
  };
  const float one = 1.0f;
  const float next = std::nextafterf(one, 2);
  EXPECT_FALSE(equal(one, next, "f32", "bits"));
  EXPECT_TRUE(equal(one, next, "f32", "ulp=1"));
  EXPECT_FALSE(equal(one, std::nextafterf(next, 2), "f32", "ulp=1"));
  EXPECT_TRUE(equal(100.0, 100.5, "f64", "rel=0.01"));
  EXPECT_TRUE(equal(100.0, 100.5, "f64", "0.01"));
  EXPECT_FALSE(equal(100.0, 100.5, "f64", "abs=0.01"));
  EXPECT_TRUE(equal(-0.0f, 0.0f, "f32", "ulp=0"));
  EXPECT_FALSE(equal(-0.0f, 0.0f, "f32", "bits"));
  EXPECT_TRUE(equal(std::nanf("1"), -std::nanf("2"), "f32", "rel=0"));
  EXPECT_FALSE(equal(std::nanf("1"), 1.0f, "f32", "rel=1e9"));
  EXPECT_FALSE(equal(INFINITY, 1.0f, "f32", "rel=1e9"));
  EXPECT_FALSE(equal(100, 101, "i32", "rel=1"));
  const auto half = [](float value) { return Half::from_float(value).bits; };
  EXPECT_FALSE(equal(half(1), half(1.0009766f), "f16", "bits"));
  EXPECT_TRUE(equal(half(1), half(1.0009766f), "f16", "ulp=1"));
  EXPECT_TRUE(equal(half(100), half(101), "f16", "rel=0.01"));
  EXPECT_FALSE(equal(half(100), half(101), "f16", "abs=0.5"));
  EXPECT_TRUE(equal(uint16_t{0x8000}, uint16_t{0}, "f16", "abs=0"));
  EXPECT_TRUE(
      equal(BrainHalf::from_float(3).bits, BrainHalf::from_float(3.01f).bits, "bf16", "0.01"));
  for (const char* bad :
       {"abs", "rel=", "ulp=x", "-1", "often=3", "nan", "inf", "ulp=1e400", "arg:bits", "argx:bits",
        "f17:bits", "arg1:f16:f16:bits", "bits,", "f16", "arg1", ":bits"})
    EXPECT_FALSE(parse_tolerances(bad).ok()) << bad;
}

TEST(Verify, ALimitMayBeForOneBufferAndSayWhatItsNumbersAre) {
  const auto tolerance = parse_tolerances("arg2:f16:abs=0.5,rel=1e-3,arg3:bits");
  ASSERT_TRUE(tolerance.ok()) << tolerance.error().message;
  EXPECT_EQ(tolerance->kind, Tolerance::Kind::kRelative);
  EXPECT_EQ(tolerance->element, "");
  ASSERT_EQ(tolerance->arguments.size(), 2u);
  EXPECT_EQ(tolerance->arguments[0].argument, 2u);
  EXPECT_EQ(tolerance->arguments[0].element, "f16");
  EXPECT_EQ(tolerance->arguments[0].kind, Tolerance::Kind::kAbsolute);
  EXPECT_EQ(tolerance->arguments[1].argument, 3u);
  EXPECT_EQ(tolerance->arguments[1].kind, Tolerance::Kind::kBits);
  EXPECT_EQ(parse_tolerances("bf16:ulp=2")->element, "bf16");
  EXPECT_TRUE(parse_tolerance("ulp=2").ok());
  EXPECT_FALSE(parse_tolerance("bf16:ulp=2").ok());
  EXPECT_FALSE(parse_tolerance("ulp=2,arg1:bits").ok());
}

TEST(Half, IsReadAndWrittenAsIeeeHasIt) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const float value = half.to_float();
    if (std::isnan(value)) EXPECT_TRUE(std::isnan(Half::from_float(value).to_float()));
    else EXPECT_EQ(Half::from_float(value).bits, bits);
  }
  EXPECT_EQ(Half{0x0001}.to_float(), 0x1p-24f);
  EXPECT_EQ(Half{0x3c01}.to_float(), 1.0009765625f);
  EXPECT_EQ(Half::from_float(65504).bits, 0x7bff);
  EXPECT_EQ(Half::from_float(65519.9f).bits, 0x7bff);
  EXPECT_EQ(Half::from_float(65520).bits, 0x7c00);
  EXPECT_EQ(Half::from_float(1.00048828125f).bits, 0x3c00);  // ties to even
  EXPECT_EQ(Half::from_float(-0.0f).bits, 0x8000);
  EXPECT_EQ(Half::from_float(0x1.ffep-15f).bits, 0x0400);  // rounds up to a normal number
  EXPECT_EQ(BrainHalf::from_float(1.0f).bits, 0x3f80);
  EXPECT_EQ(BrainHalf::from_float(1.00390625f).bits, 0x3f80);  // ties to even
}

TEST(CapturedKernel, TypesComeFromTheSignature) {
  const std::vector<std::string> two = {"std::array<int, 3>", "float const*"};
  EXPECT_EQ(parameters_of("void ns::k<float, (int)4>(std::array<int, 3>, float const*)"), two);
  EXPECT_TRUE(parameters_of("k()").empty());
  EXPECT_TRUE(parameters_of("k").empty());
  EXPECT_TRUE(parameters_of(")").empty());
  EXPECT_EQ(element_of("float const*"), "f32");
  EXPECT_EQ(element_of("unsigned long long* __restrict__"), "u64");
  EXPECT_EQ(element_of("HIP_vector_type<double, 2u>*"), "f64");
  EXPECT_EQ(element_of("__half const*"), "f16");
  EXPECT_EQ(element_of("__hip_bfloat16*"), "bf16");
  EXPECT_EQ(element_of("Particle*"), "");
  EXPECT_EQ(element_of("float**"), "");
}

}  // namespace
}  // namespace wavetap::replay
