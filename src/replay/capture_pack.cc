#include "replay/capture_pack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "codeobj/image.h"
#include "format/capture_request.h"
#include "replay/capture_file.h"
#include "replay/capture_output.h"
#include "replay/record_packer.h"
#include "replay/touched_memory.h"

namespace wavetap::replay {
namespace {

using format::CapturePageRun;
using format::CapturePhase;
using format::CaptureRecordType;
using format::CaptureTouchedPage;
using format::kCapturePageBytes;
using TouchedPages = std::vector<CaptureTouchedPage>;

class Text {
 public:
  template <class T>
  explicit Text(const T& head) {
    append(&head, sizeof head);
  }
  void append(const void* bytes, size_t size) {
    text_.append(static_cast<const char*>(bytes), size);
  }
  void text(std::string_view text) {
    const auto length = static_cast<uint32_t>(text.size());
    append(&length, sizeof length);
    text_.append(text);
  }
  operator std::string_view() const { return text_; }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

const CaptureTouchedPage* find_page(const TouchedPages& pages, uint64_t address) {
  const auto found = std::lower_bound(
      pages.begin(), pages.end(), address,
      [](const CaptureTouchedPage& page, uint64_t wanted) { return page.address < wanted; });
  return found == pages.end() || found->address != address ? nullptr : &*found;
}

// Zeros in place of what `bits` does not name.
void keep_only(std::byte* page, const uint64_t* bits) {
  for (uint64_t i = 0; i < kCapturePageBytes; ++i)
    if (!has_bit(bits, i)) page[i] = std::byte{0};
}

// Of a wave, before it is taken for one that never ends: a kernel may wait for the host or another one.
uint64_t most_instructions(const Capture& capture) {
  constexpr uint64_t kFew = 200'000;  // waves that wait sleep in between
  constexpr uint64_t kMany = 1'000'000'000;
  if (!capture.has_after || (capture.end.flags & format::kCaptureEndUnordered) != 0) return kFew;
  const auto counted = capture.facts.find("counter.instructions");
  if (counted == capture.facts.end()) return kMany;
  const uint64_t all = std::strtoull(counted->second.c_str(), nullptr, 10);
  return std::clamp(all, kFew, uint64_t{1} << 60) * 2;
}

// Copies captures into an output.
class Packer {
 public:
  Packer(CaptureOutput& out, const PackOptions& options, PackResult& result)
      : out_(out), options_(options), result_(result) {}

  void put(const CaptureFile& file, const Capture& capture, uint32_t number);
  // What the packer adds to a capture that is kept as it is.
  void put_names(const Capture& capture, uint32_t number);

 private:
  void put_dispatch(const Capture& capture);
  void put_facts(const Capture& capture);
  void put_code_objects(const CaptureFile& file, const Capture& capture);
  void put_region(const CaptureFile& file, const CapturedRegion& region);
  void put_changes(const CaptureFile& file, const CapturedRegion& region);
  void put_touched(const TouchedPages& pages);
  PageRunList copy(const CaptureFile& file, const PageRunList& runs);
  void find_touched_pages(const CaptureFile& file, const Capture& capture);
  bool is_loaded_where_touched(const CaptureFile& file, const CapturedCodeObject& object) const;

  CaptureOutput& out_;
  const PackOptions& options_;
  PackResult& result_;
  uint32_t number_ = 0;
  bool prune_ = false;  // this capture: to touched_
  TouchedPages touched_;
};

void Packer::find_touched_pages(const CaptureFile& file, const Capture& capture) {
  prune_ = false;
  touched_.clear();
  if (!options_.only_touched || !capture.has_before || capture.is_only_touched()) return;
  const CapturedKernel kernel = find_captured_kernel(file, capture);
  const Result<std::unique_ptr<CapturedMemory>> memory = CapturedMemory::load(file, capture);
  if (!memory.ok()) {
    result_.problems.push_back(memory.error().message + "; all of its memory is kept");
    return;
  }
  TouchedMemory touched;
  ReplayOptions run = options_.run;
  run.watchdog_instructions = most_instructions(capture);
  const ReplayResult ran = find_touched(capture, kernel, **memory, run, touched);
  if (ran.fault && ran.fault->kind == emu::FaultKind::kWatchdog) {
    result_.problems.push_back(
        "what it touches is not known: it does not end, for it waits for something else; all of its "
        "memory is kept");
    return;
  }
  if (ran.refusal != Refusal::kNone) {
    result_.problems.push_back("what it touches is not known: " + ran.why +
                               "; all of its memory is kept");
    return;
  }
  touched_ = with_aliases(capture, touched.pages());
  prune_ = true;
  result_.touched_read_bytes += read_bytes(touched_);
  result_.touched_written_bytes += written_bytes(touched_);
}

void Packer::put(const CaptureFile& file, const Capture& capture, uint32_t number) {
  number_ = number;
  find_touched_pages(file, capture);
  put_dispatch(capture);
  put_facts(capture);
  put_names(capture, number_);
  put_code_objects(file, capture);
  for (const CapturedRegion& region : capture.regions) put_region(file, region);
  put_touched(prune_ ? touched_ : capture.touched);
  if (!capture.has_before) return;
  out_.put(CaptureRecordType::kBeforeDone, Text(format::CaptureMark{number_, 0}));
  for (const CapturedRegion& region : capture.regions) put_changes(file, region);
  if (!capture.has_end) return;
  format::CaptureEnd end = capture.end;
  end.capture = number_;
  Text text(end);
  text.text(capture.fault);
  out_.put(CaptureRecordType::kEnd, text);
}

void Packer::put_dispatch(const Capture& capture) {
  format::CaptureDispatch dispatch = capture.dispatch;
  dispatch.capture = number_;
  if (prune_) {
    dispatch.flags |= format::kCaptureOnlyTouched;
    if (options_.redact) dispatch.flags |= format::kCaptureRedacted;
  }
  Text text(dispatch);
  for (const std::string* part :
       {&capture.kernel, &capture.model, &capture.marketing_name, &capture.program})
    text.text(*part);
  out_.put(CaptureRecordType::kDispatch, text);
}

void Packer::put_facts(const Capture& capture) {
  constexpr size_t kEnough = format::kMostCaptureRecordBytes / 2;
  auto facts = std::make_unique<Text>(format::CaptureMark{number_, 0});
  const auto add = [&](const std::string& key, const std::string& value) {
    facts->text(key);
    facts->text(value);
  };
  for (const auto& [key, value] : capture.facts) {
    add(key, value);
    if (facts->size() < kEnough) continue;
    out_.put(CaptureRecordType::kFacts, *facts);
    facts = std::make_unique<Text>(format::CaptureMark{number_, 0});
  }
  out_.put(CaptureRecordType::kFacts, *facts);
}

void Packer::put_names(const Capture& capture, uint32_t number) {
  if (!options_.name_frame) return;
  Text facts(format::CaptureMark{number, 0});
  for (const auto& [key, place] : capture.facts) {
    if (!key.starts_with(format::kHostStackFact)) continue;
    const std::string name_key =
        format::kHostNameFact + key.substr(std::string_view(format::kHostStackFact).size());
    if (capture.facts.contains(name_key)) continue;
    const std::string name = options_.name_frame(place);
    if (name.empty()) continue;
    facts.text(name_key);
    facts.text(name);
  }
  if (facts.size() > sizeof(format::CaptureMark)) out_.put(CaptureRecordType::kFacts, facts);
}

PageRunList Packer::copy(const CaptureFile& file, const PageRunList& runs) {
  PageRunList copied;
  for (const CapturePageRun& run : runs) {
    for (uint32_t i = 0; i < run.count; ++i)
      add_page(copied, run.first_page + i, run.id == 0 ? 0 : out_.put_page(file, run.id + i));
  }
  return copied;
}

// Only code that ran, or data of it that was used, is worth its place.
bool Packer::is_loaded_where_touched(const CaptureFile& file,
                                     const CapturedCodeObject& object) const {
  const std::vector<std::byte> image = file.code_object_bytes(object);
  const Result<codeobj::CodeObject> opened = codeobj::CodeObject::open(image);
  if (!opened.ok()) return false;
  const Result<codeobj::ImageLayout> layout = codeobj::layout_of(*opened);
  if (!layout.ok()) return false;
  const uint64_t begin = object.record.load_delta;
  return std::any_of(touched_.begin(), touched_.end(), [&](const CaptureTouchedPage& page) {
    return page.address + kCapturePageBytes > begin && page.address < begin + layout->size_bytes;
  });
}

void Packer::put_code_objects(const CaptureFile& file, const Capture& capture) {
  uint32_t number = 0;
  for (const CapturedCodeObject& object : capture.code_objects) {
    if (prune_ && !is_loaded_where_touched(file, object)) continue;
    format::CaptureCodeObject record = object.record;
    record.capture = number_;
    record.object = number;
    const PageRunList pages = copy(file, object.pages);
    Text text(record);
    text.text(object.uri);
    out_.put(CaptureRecordType::kCodeObject, text);
    out_.put_runs(number_, number, CapturePhase::kCodeObject, pages);
    ++number;
  }
}

void Packer::put_region(const CaptureFile& file, const CapturedRegion& region) {
  format::CaptureRegion record = region.record;
  record.capture = number_;
  PageRunList before;
  if (!prune_) {
    before = copy(file, region.before);
  } else if (region.has_contents()) {
    const auto first = std::lower_bound(
        touched_.begin(), touched_.end(), region.begin() / kCapturePageBytes * kCapturePageBytes,
        [](const CaptureTouchedPage& page, uint64_t at) { return page.address < at; });
    for (auto at = first; at != touched_.end() && at->address < region.end(); ++at) {
      const auto page = static_cast<uint32_t>((at->address - region.begin()) / kCapturePageBytes);
      const uint32_t id = page_id(region.before, page);
      if (!options_.redact) {
        add_page(before, page, out_.put_page(file, id));
        continue;
      }
      std::byte bytes[kCapturePageBytes];
      std::memcpy(bytes, file.page(id), sizeof bytes);
      keep_only(bytes, at->read);
      add_page(before, page, out_.put_page(bytes));
    }
  }
  out_.put(CaptureRecordType::kRegion, Text(record));
  out_.put_runs(number_, record.region, CapturePhase::kBefore, before);
}

void Packer::put_changes(const CaptureFile& file, const CapturedRegion& region) {
  if (!prune_) {
    out_.put_runs(number_, region.record.region, CapturePhase::kAfter, copy(file, region.changes));
    return;
  }
  PageRunList changes;
  for (const CapturePageRun& run : region.changes) {
    for (uint32_t i = 0; i < run.count; ++i) {
      const uint32_t page = run.first_page + i;
      const CaptureTouchedPage* touched =
          find_page(touched_, region.begin() + uint64_t{page} * kCapturePageBytes);
      if (touched == nullptr) continue;  // the host's doing
      const uint32_t id = run.id == 0 ? 0 : run.id + i;
      if (!options_.redact) {
        add_page(changes, page, out_.put_page(file, id));
        continue;
      }
      // What the kernel did not write is as before: read, or unknown.
      std::byte after[kCapturePageBytes];
      std::byte before[kCapturePageBytes];
      std::memcpy(after, file.page(id), sizeof after);
      std::memcpy(before, file.page(page_id(region.before, page)), sizeof before);
      keep_only(before, touched->read);
      for (uint64_t at = 0; at < kCapturePageBytes; ++at)
        if (!has_bit(touched->written, at)) after[at] = before[at];
      add_page(changes, page, out_.put_page(after));
    }
  }
  out_.put_runs(number_, region.record.region, CapturePhase::kAfter, changes);
}

void Packer::put_touched(const TouchedPages& pages) {
  constexpr size_t kMost =
      (format::kMostCaptureRecordBytes - sizeof(format::CaptureMark)) / sizeof(CaptureTouchedPage);
  for (size_t at = 0; at < pages.size(); at += kMost) {
    Text text(format::CaptureMark{number_, 0});
    text.append(&pages[at], std::min(kMost, pages.size() - at) * sizeof(CaptureTouchedPage));
    out_.put(CaptureRecordType::kTouched, text);
  }
}

// Looks at some records of pages all over the file.
bool is_worth_packing(const CaptureFile& file) {
  constexpr size_t kWorthAsking = 256;  // less is packed in no time
  constexpr size_t kSamples = 32;
  constexpr double kWorthIt = 0.05;
  std::vector<std::span<const std::byte>> records;
  bool is_packed = false;
  file.for_each_page_record([&](const CaptureRecord& record) {
    is_packed |= record.codec != format::CaptureCodec::kStored;
    records.push_back(record.stored);
  });
  if (is_packed || file.page_count() < kWorthAsking || records.empty()) return true;
  uint64_t looked_at = 0;
  uint64_t saved = 0;
  const size_t step = std::max<size_t>(records.size() / kSamples, 1);
  for (size_t at = step / 2; at < records.size(); at += step) {
    looked_at += records[at].size();
    saved += saved_by_packing(records[at]);
  }
  return static_cast<double>(saved) >= kWorthIt * static_cast<double>(looked_at);
}

void count(const CaptureFile& file, PackResult& result) {
  result.raw_bytes += file.file_bytes();
  for (const Capture& capture : file.captures()) {
    ++(capture.has_before ? result.captures : result.partial);
    if (result.first_kernel.empty()) result.first_kernel = capture.kernel;
  }
}

}  // namespace

Result<PackResult> pack_captures(std::span<const std::string> inputs, const std::string& output,
                                 const PackOptions& options) {
  PackResult result;
  std::vector<std::unique_ptr<CaptureFile>> files;  // until the end: `out` compares with them
  for (const std::string& input : inputs) {
    Result<std::unique_ptr<CaptureFile>> file = CaptureFile::open(input);
    if (!file.ok()) {
      result.problems.push_back(file.error().message);
      continue;
    }
    files.push_back(std::move(*file));
    const CaptureFile& from = *files.back();
    if (!from.damage().empty()) result.problems.push_back(input + ": " + from.damage());
    count(from, result);
  }
  CaptureOutput out(output);
  Packer packer(out, options, result);
  const bool is_kept = inputs.size() == 1 && files.size() == 1 && files[0]->damage().empty() &&
                       !options.only_touched && !is_worth_packing(*files[0]);
  const Status opened = is_kept ? out.adopt(inputs[0]) : out.open();
  if (!opened.ok()) return opened.error();
  uint32_t number = 0;
  for (const std::unique_ptr<CaptureFile>& file : files) {
    for (const Capture& capture : file->captures()) {
      if (is_kept) packer.put_names(capture, capture.dispatch.capture);
      else packer.put(*file, capture, ++number);
    }
  }
  const Status committed = out.commit();
  if (!committed.ok()) return committed.error();
  result.file_bytes = out.size();
  return result;
}

}  // namespace wavetap::replay
