// The recorder with real folders: what is written by threads, children and failing disks is read
// back by the reader that import uses.
#include "record/recorder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "format/reader.h"
#include "record/call.h"
#include "record/control.h"
#include "record/facts.h"
#include "record/helper.h"
#include "record/layout.h"
#include "record/losses.h"
#include "record/markers.h"
#include "record/session.h"
#include "record/stack.h"

namespace wavetap::record {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kFunction = 7;

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("recorder-XXXXXX");
    std::string name = folder_.string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("WAVETAP_SESSION", folder_.c_str(), 1);
    setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    unsetenv("WAVETAP_OPTIONS");
    forget_session();
  }
  void TearDown() override {
    finish_process();
    forget_session();
    // The helper thread may be making a last spare.
    std::error_code error;
    for (int i = 0; i < 1000 && fs::exists(folder_); ++i) {
      fs::remove_all(folder_, error);
      std::this_thread::yield();
    }
  }

  fs::path folder_;
};

// ThreadSanitizer ends a child that starts threads.
void skip_where_forking_is_impossible() {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer ends a forked child that starts threads";
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer ends a forked child that starts threads";
#endif
#endif
}

void make_calls(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    OpenCall call;
    ASSERT_TRUE(enter_call(call, kFunction));
    leave_call(call, kFunction, static_cast<int32_t>(i), Word{uint64_t{i}});
  }
}

struct Read {
  std::map<uint32_t, std::vector<int32_t>> results;  // of the calls of each stream
  std::map<format::Kind, uint64_t> facts;
  std::vector<uint32_t> pids;
  uint64_t missing = 0;
};

Read read_back(const fs::path& folder, uint32_t only_pid = 0) {
  Read read;
  Result<format::SessionReader> session = format::SessionReader::open(folder.string());
  EXPECT_TRUE(session.ok());
  if (!session.ok()) return read;
  for (const format::ProcessStreams& process : session->processes()) {
    read.pids.push_back(process.id.pid);
    if (only_pid != 0 && process.id.pid != only_pid) continue;
    for (format::StreamReader* const stream : process.streams) {
      const uint32_t number = stream->number();
      format::Record record;
      while (stream->next(record)) {
        if (number == format::kFactsStream) {
          ++read.facts[record.header.kind];
        } else if (const auto* call = record.as<format::CallRecord>();
                   call != nullptr && record.header.kind == format::Kind::kCall) {
          read.results[stream->stream()].push_back(call->result);
        }
      }
      read.missing += stream->damage().missing_records;
    }
  }
  return read;
}

TEST_F(RecorderTest, KeepsEveryCallOfEveryThreadInOrder) {
  ensure_started();
  ASSERT_TRUE(recording());
  constexpr uint32_t kCalls = 100'000;  // several chunks each
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { make_calls(kCalls); });
  for (std::thread& thread : threads) thread.join();
  make_calls(3);
  const Read read = read_back(folder_);
  ASSERT_EQ(read.results.size(), 5u);
  EXPECT_EQ(read.missing, 0u);
  for (const auto& [stream, results] : read.results) {
    if (results.size() == 3) continue;
    ASSERT_EQ(results.size(), kCalls);
    for (uint32_t i = 0; i < kCalls; ++i) ASSERT_EQ(results[i], static_cast<int32_t>(i));
  }
  EXPECT_EQ(read.facts.at(format::Kind::kProcess), 1u);
  EXPECT_EQ(read.facts.at(format::Kind::kThread), 5u);
  EXPECT_GE(read.facts.at(format::Kind::kClockSample), 1u);
}

TEST_F(RecorderTest, UsesTheFilesOfThreadsThatEndedAgain) {
  ensure_started();
  for (int i = 0; i < 20; ++i) std::thread([] { make_calls(2); }).join();
  size_t files = 0;
  for (const auto& file : fs::directory_iterator(folder_))
    if (file.path().extension() == ".chunk") ++files;
  EXPECT_LE(files, 4u);  // facts, the helper's, and one for all of them
  const Read read = read_back(folder_);
  EXPECT_EQ(read.missing, 0u);
  ASSERT_EQ(read.results.size(), 20u);
  for (const auto& [stream, results] : read.results) EXPECT_EQ(results.size(), 2u);
  EXPECT_EQ(read.facts.at(format::Kind::kThread), 20u);
}

// The file goes on in further chunks under a thread that it was not made for.
TEST_F(RecorderTest, AFileThatWasTakenOverGoesOnInLaterChunks) {
  ensure_started();
  constexpr uint32_t kCalls = 50'000;
  std::thread([] { make_calls(1); }).join();
  std::thread([] { make_calls(kCalls); }).join();
  std::thread([] { make_calls(3); }).join();
  const Read read = read_back(folder_);
  EXPECT_EQ(read.missing, 0u);
  std::vector<size_t> sizes;
  for (const auto& [stream, results] : read.results) sizes.push_back(results.size());
  EXPECT_EQ(sizes, (std::vector<size_t>{1, kCalls, 3}));
}

TEST_F(RecorderTest, StartAndStopCount) {
  setenv("WAVETAP_OPTIONS", "paused", 1);
  ensure_started();
  EXPECT_FALSE(recording());
  EXPECT_EQ(stop_recording(1), 0u);
  EXPECT_EQ(start_recording(1), 1u);
  EXPECT_TRUE(recording());
  EXPECT_EQ(start_recording(1), 2u);
  EXPECT_EQ(stop_recording(1), 1u);
  EXPECT_TRUE(recording());
  EXPECT_EQ(stop_recording(1), 0u);
  EXPECT_FALSE(recording());
  EXPECT_EQ(start_recording(1), 1u);
  EXPECT_TRUE(recording());
  EXPECT_EQ(read_back(folder_).facts.at(format::Kind::kControl), 6u);
}

TEST_F(RecorderTest, OptionsReachTheState) {
  setenv("WAVETAP_OPTIONS", "args,stacks,hsa,barriers,kernargs", 1);
  ensure_started();
  EXPECT_EQ(g_state.load(),
            kReady | kRecording | kArguments | kStacks | kHsaCalls | kBarriers | kKernargs);
}

TEST_F(RecorderTest, AChildHasItsOwnFiles) {
  skip_where_forking_is_impossible();
  if (IsSkipped()) return;
  ensure_started();
  make_calls(2);
  const pid_t child = fork();
  if (child == 0) {
    if (g_state.load() != 0 || t_thread.stream != nullptr) _exit(1);
    make_calls(5);
    _exit(recording() ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  make_calls(1);
  const Read parent = read_back(folder_, static_cast<uint32_t>(getpid()));
  const Read other = read_back(folder_, static_cast<uint32_t>(child));
  EXPECT_EQ(parent.pids.size(), 2u);
  ASSERT_EQ(parent.results.size(), 1u);
  EXPECT_EQ(parent.results.begin()->second.size(), 3u);
  ASSERT_EQ(other.results.size(), 1u);
  EXPECT_EQ(other.results.begin()->second.size(), 5u);
  EXPECT_EQ(other.facts.at(format::Kind::kProcess), 1u);
}

TEST_F(RecorderTest, AChildMadeWithoutHandlersHasItsOwnFiles) {
  skip_where_forking_is_impossible();
  if (IsSkipped()) return;
  ensure_started();
  make_calls(2);
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) {
    // As a hook does it: state 0 leads to ensure_started().
    if (g_state.load() != 0) _exit(1);
    ensure_started();
    make_calls(4);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(static_cast<pid_t>(child), &status, 0), child);
  EXPECT_EQ(status, 0);
  const Read read = read_back(folder_, static_cast<uint32_t>(child));
  ASSERT_EQ(read.results.size(), 1u);
  EXPECT_EQ(read.results.begin()->second.size(), 4u);
}

TEST_F(RecorderTest, AFullDiskEndsRecordingNotTheProgram) {
  skip_where_forking_is_impossible();
  if (IsSkipped()) return;
  ensure_started();
  make_calls(1);
  const pid_t child = fork();
  if (child == 0) {
    make_calls(1);
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    for (int i = 0; i < 200'000; ++i) {
      OpenCall call;
      if (!recording()) break;
      if (enter_call(call, kFunction)) leave_call(call, kFunction, 0, Word{1});
    }
    if (recording() || losses_so_far() == 0) _exit(1);
    if (start_recording(1) == 0 || recording()) _exit(2);
    write_pending_facts();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const Read read = read_back(folder_, static_cast<uint32_t>(child));
  EXPECT_GE(read.facts.at(format::Kind::kLoss), 1u);
  EXPECT_GT(read.results.begin()->second.size(), 1000u);
}

TEST_F(RecorderTest, AMissingFolderRecordsNothing) {
  const fs::path nowhere = folder_ / "nowhere";
  setenv("WAVETAP_SESSION", nowhere.c_str(), 1);
  testing::internal::CaptureStderr();
  ensure_started();
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "wavetap: error: " + nowhere.string() + ": No such file or directory; nothing is recorded\n");
  EXPECT_FALSE(recording());
  EXPECT_EQ(stream(), nullptr);
}

TEST_F(RecorderTest, ARecordThatASignalHandlerMakesInTheMiddleOfAnotherComesBehindIt) {
  ensure_started();
  Stream* const own = stream();
  ASSERT_NE(own, nullptr);
  auto* const outer = own->reserve<format::CallRecord>();
  ASSERT_NE(outer, nullptr);
  outer->result = 77;
  const uint64_t before = losses_so_far();
  make_calls(2);  // as a handler would
  own->commit(outer, format::Kind::kCall);
  make_calls(1);
  EXPECT_EQ(losses_so_far(), before);
  const Read read = read_back(folder_);
  EXPECT_EQ(read.missing, 0u);
  EXPECT_EQ(read.results.begin()->second, (std::vector<int32_t>{77, 0, 1, 0}));
}

TEST_F(RecorderTest, WhatIsTooLargeOrTooMuchToBePutAsideIsCounted) {
  ensure_started();
  Stream* const own = stream();
  ASSERT_NE(own, nullptr);
  auto* const outer = own->reserve<format::FreeRecord>();
  ASSERT_NE(outer, nullptr);
  const uint64_t before = losses_so_far();
  EXPECT_EQ(own->reserve<format::FreeRecord>(4096), nullptr);
  EXPECT_EQ(losses_so_far(), before + 1);
  make_calls(5);
  EXPECT_EQ(losses_so_far(), before + 1);
  make_calls(100);
  EXPECT_GT(losses_so_far(), before + 1);
  own->commit(outer, format::Kind::kFree);
  EXPECT_NE(own->reserve<format::FreeRecord>(), nullptr);
}

TEST_F(RecorderTest, AnOpenCallIsVisibleWhileItLasts) {
  ensure_started();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, kFunction));
  const format::ChunkHeader* const chunk = stream()->chunk();
  EXPECT_EQ(chunk->open_call, uint64_t{kFunction} << 32 | 1);
  OpenCall nested;
  ASSERT_TRUE(enter_call(nested, kFunction + 1));
  EXPECT_EQ(chunk->open_call, uint64_t{kFunction} << 32 | 1);
  leave_call(nested, kFunction + 1, 0);
  EXPECT_NE(chunk->open_call, 0u);
  leave_call(call, kFunction, 0);
  EXPECT_EQ(chunk->open_call, 0u);
}

TEST_F(RecorderTest, TheAgentsOwnCallsPassThrough) {
  ensure_started();
  const Inside inside;
  OpenCall call;
  EXPECT_FALSE(enter_call(call, kFunction));
}

TEST_F(RecorderTest, SessionFilesAreNamedAfterTheProcess) {
  ensure_started();
  char path[4096];
  const std::string_view name = session_file(12, path, sizeof path);
  EXPECT_TRUE(name.starts_with(std::to_string(getpid()) + "-"));
  EXPECT_TRUE(name.ends_with(".12.co"));
  EXPECT_EQ(std::string(path), folder_.string() + "/" + std::string(name));
}

TEST(Control, ParsesRequests) {
  EXPECT_EQ(parse_request("start"), Request::kStart);
  EXPECT_EQ(parse_request(" stop\r"), Request::kStop);
  EXPECT_EQ(parse_request("flush"), Request::kFlush);
  EXPECT_EQ(parse_request("status "), Request::kStatus);
  EXPECT_EQ(parse_request(""), Request::kUnknown);
  EXPECT_EQ(parse_request("starting"), Request::kUnknown);
}

TEST_F(RecorderTest, StatusNamesTheCallsInFlight) {
  ensure_started();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, kFunction));
  char answer[4096];
  const std::string text(answer, answer_request(Request::kStatus, 1, answer, sizeof answer));
  leave_call(call, kFunction, 0);
  EXPECT_NE(text.find("state recording\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncall " + std::to_string(gettid()) + " ? "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("ok\n")) << text;
}

TEST_F(RecorderTest, MarkersKeepTheirTexts) {
  ensure_started();
  write_marker(format::MarkerKind::kPush, 0, "a message", "a domain", nullptr);
  write_marker(format::MarkerKind::kPop, 0, "unused", nullptr, nullptr);
  write_marker(format::MarkerKind::kStart, 7, "", nullptr, "a category");
  EXPECT_EQ(enter_range(), 0);
  EXPECT_EQ(enter_range(), 1);
  EXPECT_EQ(leave_range(), 1);
  EXPECT_EQ(leave_range(), 0);
  EXPECT_EQ(leave_range(), -1);
  Result<format::SessionReader> session = format::SessionReader::open(folder_.string());
  ASSERT_TRUE(session.ok());
  std::vector<std::string> read;
  for (format::StreamReader* const stream : session->processes().at(0).streams) {
    format::Record record;
    while (stream->next(record)) {
      if (record.header.kind != format::Kind::kMarker) continue;
      format::TextCursor texts(record.after<format::MarkerRecord>());
      std::string line = std::to_string(record.header.flags);
      for (int i = 0; i < 3; ++i) line.append("|").append(texts.next());
      read.push_back(line);
    }
  }
  EXPECT_EQ(read, (std::vector<std::string>{"0|a message|a domain|", "1|||", "3|||a category"}));
}

TEST_F(RecorderTest, StacksStayInsideTheThreadsOwn) {
  setenv("WAVETAP_OPTIONS", "stacks", 1);
  ensure_started();
  OpenCall call;
  ASSERT_TRUE(enter_call(call, kFunction));
  write_stack(call, reinterpret_cast<const void*>(0x1234), __builtin_frame_address(0));
  // Not a stack at all.
  write_stack(call, reinterpret_cast<const void*>(0x1234), reinterpret_cast<const void*>(16));
  leave_call(call, kFunction, 0);
  Result<format::SessionReader> session = format::SessionReader::open(folder_.string());
  ASSERT_TRUE(session.ok());
  std::vector<uint32_t> frames;
  for (format::StreamReader* const stream : session->processes().at(0).streams) {
    format::Record record;
    while (stream->next(record)) {
      if (const auto* stack = record.as<format::StackRecord>();
          record.header.kind == format::Kind::kStack) {
        frames.push_back(stack->frames);
        uint64_t first;
        memcpy(&first, stack + 1, sizeof first);
        EXPECT_EQ(first, 0x1234u);
        EXPECT_EQ(record.header.words, (sizeof *stack + stack->frames * 8) / 8);
      }
    }
  }
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1], 1u);
}

// The words that arguments were packed from.
template <class... Arguments>
std::vector<uint64_t> packed(const Arguments&... arguments) {
  const size_t count = (size_t{0} + ... + arguments.words());
  std::vector<char> bytes(Packer::room(count) + 8);
  Packer packer(bytes.data());
  (arguments.put(packer), ...);
  const size_t used = static_cast<size_t>(packer.at() - bytes.data());
  EXPECT_LE(used + 8, Packer::room(count) + 8);
  for (size_t i = used; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], 0) << "behind the record";
  std::vector<uint64_t> words;
  for (size_t at = 0; words.size() < count;) {
    const auto lengths = static_cast<uint8_t>(bytes[at++]);
    for (const size_t length : {size_t{lengths} & 15, size_t{lengths} >> 4}) {
      uint64_t word = 0;
      memcpy(&word, bytes.data() + at, length);
      at += length;
      if (words.size() < count) words.push_back(word);
    }
  }
  return words;
}

using Words = std::vector<uint64_t>;

TEST(Layout, WidensAndKeeps) {
  EXPECT_EQ(packed(Word{int32_t{-2}}, Word{uint32_t{0xffffffff}}, Word{1.5f}, Word{true}),
            (Words{~uint64_t{1}, 0xffffffff, 0x3fc00000, 1}));
  EXPECT_EQ(packed(Word{~uint64_t{0}}, Word{uint64_t{1} << 55}, Word{uint64_t{1} << 56}),
            (Words{~uint64_t{0}, uint64_t{1} << 55, uint64_t{1} << 56}));
  const uint32_t behind = 77;
  EXPECT_EQ(packed(Out<uint32_t>{&behind, true}, Out<uint32_t>{&behind, false},
                   Out<uint32_t>{nullptr, true}),
            (Words{77, 0, 0}));
  EXPECT_EQ(packed(Three{uint64_t{2} << 32 | 1, uint64_t{99} << 32 | 3}, Word{5}),
            (Words{uint64_t{2} << 32 | 1, 3, 5}));
  const uint32_t three[3] = {1, 2, 3};
  EXPECT_EQ(packed(Behind<12>{three, true}, Behind<12>{three, false}),
            (Words{uint64_t{2} << 32 | 1, 3, 0, 0}));
  uint64_t kernel = 0;
  memcpy(&kernel, "kernel", 6);
  EXPECT_EQ(packed(CString("kernel", true), CString(nullptr, true)), (Words{6, kernel, 0}));
}

TEST(Layout, PacksWhatIsSmall) {
  char bytes[64] = {};
  Packer packer(bytes);
  const auto put = [&](const auto&... arguments) { (arguments.put(packer), ...); };
  put(Word{reinterpret_cast<void*>(0x7f0012345000)}, Word{size_t{4096}}, Word{int32_t{1}},
      Word{int32_t{0}});
  EXPECT_EQ(packer.at() - bytes, 1 + 6 + 2 + 1 + 1 + 0);
}

TEST(Layout, ReadsStringsOfUnsurePointers) {
  EXPECT_EQ(unsure_length("hello", 512), 5u);
  EXPECT_EQ(unsure_length(reinterpret_cast<const char*>(8), 512), 0u);
  const std::string text(1000, 'x');
  EXPECT_EQ(unsure_length(text.c_str(), 512), 512u);
}

}  // namespace
}  // namespace wavetap::record
