// RecordPacker: compresses records of a capture file on several threads and hands them on in their order.
//
// Each record is a zstd frame of its own, so they can be made in any order. What does not get smaller is
// stored as it is.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "format/capture.h"

namespace wavetap::replay {

// One thread calls; the sink is called in it.
class RecordPacker {
 public:
  // `stored`: as many bytes as the header says.
  using Sink = std::function<void(const format::CaptureRecordHeader& header, const void* stored)>;

  explicit RecordPacker(Sink sink);
  ~RecordPacker();  // waits for its threads; what is not finished is lost
  RecordPacker(const RecordPacker&) = delete;
  RecordPacker& operator=(const RecordPacker&) = delete;

  // Hands on earlier records when there are enough under way.
  void put(format::CaptureRecordType type, std::string payload);
  // Hands on all of them.
  void finish();

 private:
  struct Record {
    format::CaptureRecordHeader header{};
    std::string payload;
    std::vector<std::byte> packed;  // used where that is smaller
  };
  class Contexts;

  void hand_on();

  const Sink sink_;
  const size_t most_under_way_;
  const std::unique_ptr<Contexts> contexts_;
  std::deque<std::future<Record>> under_way_;
};

// How many of these bytes compression would save.
uint64_t saved_by_packing(std::span<const std::byte> bytes);

}  // namespace wavetap::replay
