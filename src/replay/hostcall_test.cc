#include "replay/hostcall.h"

#include <cstring>

#include <gtest/gtest.h>

#include "replay/host_services.h"

namespace wavetap::replay {
namespace {

class Words {
 public:
  Words& text(const std::string& text) {
    std::vector<uint64_t> part(text.size() / 8 + 1);
    std::memcpy(part.data(), text.data(), text.size());
    words_.insert(words_.end(), part.begin(), part.end());
    return *this;
  }
  Words& number(uint64_t value) {
    words_.push_back(value);
    return *this;
  }
  Words& real(double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return number(bits);
  }
  std::string print() const { return format_printf(words_); }
  const std::vector<uint64_t>& all() const { return words_; }

 private:
  std::vector<uint64_t> words_;
};

TEST(KernelPrintf, PrintsWhatTheCLibraryWould) {
  EXPECT_EQ(Words().text("plain").print(), "plain");
  EXPECT_EQ(Words()
                .text("%d%%|%5u|%-4x|%#o")
                .number(uint64_t(-3))
                .number(7)
                .number(255)
                .number(8)
                .print(),
            "-3%|    7|ff  |010");
  EXPECT_EQ(Words()
                .text("%hhd %hx %lld %zu")
                .number(0x180)
                .number(0x12345)
                .number(uint64_t(-5))
                .number(9)
                .print(),
            "-128 2345 -5 9");
  EXPECT_EQ(Words().text("%.2f %8.3e %c").real(1.5).real(-2.25).number('x').print(),
            "1.50 -2.250e+00 x");
  EXPECT_EQ(Words()
                .text("%s and %.3s, %*d")
                .text("eight ch")
                .text("longer than three")
                .number(4)
                .number(42)
                .print(),
            "eight ch and lon,   42");
  EXPECT_EQ(Words().text("%-*d|%.*f").number(4).number(1).number(1).real(0.25).print(), "1   |0.2");
  EXPECT_EQ(Words().text("%n%d").number(1).number(2).print(), "2");
}

TEST(KernelPrintf, ReadsNothingBeyondItsWords) {
  EXPECT_EQ(Words().print(), "");
  EXPECT_EQ(Words().text("%d %s").print(), "0 ");
  EXPECT_EQ(format_printf(std::vector<uint64_t>{0x4141414141414141}), "AAAAAAAA");  // no end
  EXPECT_EQ(Words().text("a%qb").number(1).print(), "a");
  EXPECT_EQ(Words().text("%99999999d").number(1).print().size(), 4096u);
}

// A wave that calls: takes a packet, fills it in, pushes it.
class Caller {
 public:
  explicit Caller(std::vector<std::byte>& memory) : memory_(memory) {}

  uint64_t call(uint32_t service, uint64_t lanes, const uint64_t (&words)[8]) {
    const uint64_t packet = word(24);
    const uint64_t index = packet & word(40);
    put(24, word(256 + index * 24));
    const uint64_t payload = word(8) - kAddress + index * 4096;
    for (uint64_t lane = 0; lane < 64; ++lane)
      if ((lanes >> lane & 1) != 0)
        std::memcpy(memory_.data() + payload + lane * 64, words, sizeof words);
    put(256 + index * 24, word(32));
    put(256 + index * 24 + 8, lanes);
    put(256 + index * 24 + 16, service | uint64_t{1} << 32);
    put(32, packet);
    return payload;
  }
  uint64_t word(uint64_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, memory_.data() + at, sizeof value);
    return value;
  }
  void put(uint64_t at, uint64_t value) { std::memcpy(memory_.data() + at, &value, sizeof value); }

  static constexpr uint64_t kAddress = 0x7000'0000'0000;

 private:
  std::vector<std::byte>& memory_;
};

struct Served {
  explicit Served(uint32_t packets)
      : memory(HostcallServer::bytes_for(packets)),
        server(memory, Caller::kAddress, packets, true,
               {[this](std::string_view text, bool is_error) {
                  printed += (is_error ? "!" : "") + std::string(text);
                },
                [](uint64_t bytes) { return bytes * 2; },
                [this](uint64_t address) { released = address; }}) {}
  std::vector<std::byte> memory;
  std::string printed;
  uint64_t released = 0;
  HostcallServer server;
};

TEST(HostcallServer, AnswersEveryLaneOfEveryPacket) {
  Served served(64);
  Caller caller(served.memory);
  const uint64_t first = caller.call(3, 0b101, {0, 21});
  const uint64_t second = caller.call(3, 0b10, {0x5000, 0});
  EXPECT_TRUE(served.server.serve());
  EXPECT_EQ(caller.word(first), 42u);
  EXPECT_EQ(caller.word(first + 2 * 64), 42u);
  EXPECT_EQ(caller.word(first + 64), 0u);
  EXPECT_EQ(caller.word(second + 64), 0x5000u);
  EXPECT_EQ(served.released, 0x5000u);
  EXPECT_EQ(caller.word(32), 0u);
}

TEST(HostcallServer, PutsMessagesTogether) {
  Served served(64);
  Caller caller(served.memory);
  const std::vector<uint64_t> format = Words().text("lane %d\n").all();
  uint64_t at = caller.call(2, 1, {1 | 1 << 5, /*to stderr=*/1});
  ASSERT_TRUE(served.server.serve());
  const uint64_t message = caller.word(at);
  EXPECT_EQ(message & 1, 0u);
  at =
      caller.call(2, 1, {(message & ~uint64_t{7 << 5}) | format.size() << 5, format[0], format[1]});
  ASSERT_TRUE(served.server.serve());
  EXPECT_EQ(served.printed, "");
  at = caller.call(2, 1, {(caller.word(at) & ~uint64_t{7 << 5}) | 2 | 1 << 5, 17});
  ASSERT_TRUE(served.server.serve());
  EXPECT_EQ(served.printed, "!lane 17\n");
  EXPECT_EQ(caller.word(at), 8u);
}

TEST(HostcallServer, RefusesWhatNobodyCanAnswer) {
  Served served(64);
  Caller caller(served.memory);
  caller.call(1, 1, {0x1234});
  EXPECT_FALSE(served.server.serve());
  EXPECT_NE(served.server.refusal().find("a function of the program"), std::string::npos);
  served.server.reset();
  EXPECT_TRUE(served.server.serve());
  caller.call(77, 1, {});
  EXPECT_FALSE(served.server.serve());
  served.server.reset();
  caller.call(2, 1, {2 | 5 << 8});  // the end of a message that never began
  EXPECT_FALSE(served.server.serve());
}

TEST(HostcallServer, SurvivesLinksThatGoRound) {
  Served served(64);
  Caller caller(served.memory);
  caller.call(3, 1, {0, 1});
  const uint64_t packet = caller.word(32);
  caller.put(256 + (packet & 63) * 24, packet);
  EXPECT_TRUE(served.server.serve());
}

TEST(HostServices, DeviceEnqueueIsRefusedWithTheReason) {
  CapturedKernel kernel;
  CapturedArgument queue;
  queue.arg.value_kind = "hidden_default_queue";
  queue.value.assign(8, std::byte{0});
  kernel.arguments.push_back(queue);
  CapturedArgument unknown;  // its bytes were not captured
  unknown.arg.value_kind = "hidden_completion_action";
  kernel.arguments.push_back(unknown);
  Capture capture;
  capture.kernel = "parent";
  format::CaptureFileHeader header{};
  std::memcpy(header.magic, format::kCaptureMagic, sizeof header.magic);
  header.header_bytes = sizeof header;
  header.checksum =
      format::capture_checksum(&header, offsetof(format::CaptureFileHeader, checksum));
  const auto file = CaptureFile::over(std::as_bytes(std::span(&header, 1)), "empty");
  ASSERT_TRUE(file.ok());
  const auto memory = CapturedMemory::load(**file, capture);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(needed_and_missing(capture, kernel, **memory), "");
  kernel.arguments[0].value[1] = std::byte{1};
  const std::string why = needed_and_missing(capture, kernel, **memory);
  EXPECT_NE(why.find("parent: starts kernels itself (device enqueue)"), std::string::npos) << why;
}

}  // namespace
}  // namespace wavetap::replay
