#include "format/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "format/test_writer.h"

namespace wavetap::format {
namespace {

using test::TestFolder;
using test::TestStream;

CallRecord call(uint32_t number) {
  CallRecord record{};
  record.start = 1000 + number * 10;
  record.duration = 5;
  record.function = 7;
  record.call = number;
  return record;
}

// Fills a stream with calls 1..count in chunks of 1 KiB: 28 records each.
void write_calls(const TestFolder& folder, uint32_t stream, uint32_t count) {
  TestStream out(folder.path(), 50, 9, stream, 60, 1024);
  for (uint32_t i = 1; i <= count; ++i) out.put(call(i), Kind::kCall);
}

std::string chunk(const TestFolder& folder, uint32_t stream, uint32_t ordinal) {
  return folder.file("50-9." + std::to_string(stream) + "." + std::to_string(ordinal) + ".chunk");
}

void overwrite(const std::string& path, off_t offset, uint64_t value) {
  const int fd = open(path.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0) << path;
  ASSERT_EQ(pwrite(fd, &value, sizeof value, offset), ssize_t{sizeof value});
  close(fd);
}

std::vector<uint32_t> read_calls(StreamReader& stream) {
  std::vector<uint32_t> calls;
  Record record;
  while (stream.next(record)) calls.push_back(record.as<CallRecord>()->call);
  return calls;
}

TEST(Checksum, IsCrc32c) { EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u); }

TEST(Reader, ReadsAStreamAcrossItsChunks) {
  TestFolder folder("reader");
  write_calls(folder, 3, 100);
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  ASSERT_EQ(session->processes().size(), 1u);
  EXPECT_EQ(session->processes()[0].id.pid, 50u);
  StreamReader& stream = *session->processes()[0].streams.at(0);
  EXPECT_EQ(stream.tid(), 60u);
  const std::vector<uint32_t> calls = read_calls(stream);
  ASSERT_EQ(calls.size(), 100u);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(calls[i], i + 1);
  EXPECT_FALSE(session->total_damage().any());
  stream.rewind();
  EXPECT_EQ(read_calls(stream).size(), 100u);
}

TEST(Reader, TextsFollowTheFixedPart) {
  TestFolder folder("reader");
  {
    TestStream out(folder.path(), 50, 9, 0, 50, 4096);
    out.put(FunctionFact{{}, 4, 0}, Kind::kFunction, 0,
            test::texts({"hipMalloc", "ptr:op,size:z"}));
    // A length that runs over the record's end is cut there.
    std::vector<uint64_t> words = test::texts({"abcdefgh"});
    words[0] = 4000;
    out.put(NoteFact{}, Kind::kNote, 0, words);
  }
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  StreamReader& stream = *session->processes().at(0).facts();
  Record record;
  ASSERT_TRUE(stream.next(record));
  TextCursor texts(record.after<FunctionFact>());
  EXPECT_EQ(texts.next(), "hipMalloc");
  EXPECT_EQ(texts.next(), "ptr:op,size:z");
  EXPECT_EQ(texts.next(), "");
  ASSERT_TRUE(stream.next(record));
  EXPECT_EQ(TextCursor(record.after<NoteFact>()).next(), "abcdefgh");
}

TEST(Reader, FollowsAStreamThatGrows) {
  TestFolder folder("reader");
  TestStream out(folder.path(), 50, 9, 1, 60, 1024);
  out.put(call(1), Kind::kCall);
  out.flush();
  // A chunk without a header yet is neither data nor damage.
  close(open(chunk(folder, 2, 0).c_str(), O_CREAT | O_WRONLY, 0600));
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(read_calls(*session->processes()[0].streams[0]), std::vector<uint32_t>{1});
  EXPECT_FALSE(session->refresh());

  for (uint32_t i = 2; i <= 40; ++i) out.put(call(i), Kind::kCall);
  out.flush();
  write_calls(folder, 2, 1);
  EXPECT_TRUE(session->refresh());
  ASSERT_EQ(session->processes()[0].streams.size(), 2u);
  EXPECT_EQ(read_calls(*session->processes()[0].streams[1]).size(), 1u);
  // The first chunk was rewritten in place, as a writer that shares the mapping would.
  EXPECT_EQ(read_calls(*session->processes()[0].streams[0]).size(), 39u);
  EXPECT_FALSE(session->total_damage().any());
}

TEST(Reader, ADamagedRecordCostsTheTailOfItsChunk) {
  TestFolder folder("reader");
  write_calls(folder, 1, 84);  // three chunks of 28
  // Record 11 of chunk 1 gets an impossible size.
  overwrite(chunk(folder, 1, 1), sizeof(ChunkHeader) + 10 * sizeof(CallRecord),
            0xffff'ffff'ffff'ffffull);
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  const std::vector<uint32_t> calls = read_calls(*session->processes()[0].streams[0]);
  EXPECT_EQ(calls.size(), 84u - 18u);
  EXPECT_EQ(calls[37], 38u);
  EXPECT_EQ(calls[38], 57u);
  EXPECT_EQ(session->total_damage().missing_records, 18u);
  EXPECT_EQ(session->total_damage().unreadable_bytes, 18 * sizeof(CallRecord));
}

TEST(Reader, ARecordOutOfSequenceIsNotBelieved) {
  TestFolder folder("reader");
  write_calls(folder, 1, 10);
  RecordHeader header{Kind::kCall, 0, sizeof(CallRecord) / 8, 99};
  uint64_t word;
  std::memcpy(&word, &header, sizeof word);
  overwrite(chunk(folder, 1, 0), sizeof(ChunkHeader) + 4 * sizeof(CallRecord), word);
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(read_calls(*session->processes()[0].streams[0]).size(), 4u);
  EXPECT_EQ(session->total_damage().missing_records, 1u);  // nothing follows: at least one
  EXPECT_GE(session->total_damage().unreadable_bytes, 6 * sizeof(CallRecord) - 8);
}

TEST(Reader, ATruncatedChunkLosesItsTailOnly) {
  TestFolder folder("reader");
  write_calls(folder, 1, 84);
  ASSERT_EQ(truncate(chunk(folder, 1, 1).c_str(), sizeof(ChunkHeader) + 5 * sizeof(CallRecord) + 4),
            0);
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(read_calls(*session->processes()[0].streams[0]).size(), 28u + 5u + 28u);
  EXPECT_EQ(session->total_damage().missing_records, 23u);
}

TEST(Reader, AMissingOrForeignChunkIsCounted) {
  TestFolder folder("reader");
  write_calls(folder, 1, 84);
  write_calls(folder, 2, 84);
  ASSERT_EQ(unlink(chunk(folder, 1, 1).c_str()), 0);
  overwrite(chunk(folder, 2, 1), 24, 0x1234);  // capacity, under the checksum
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  for (StreamReader* stream : session->processes()[0].streams)
    EXPECT_EQ(read_calls(*stream).size(), 56u);
  EXPECT_EQ(session->total_damage().missing_records, 56u);
  EXPECT_EQ(session->damage().unreadable_bytes, 1024u);
  ASSERT_EQ(session->damage().notes.size(), 1u);
  EXPECT_NE(session->damage().notes[0].find("checksum"), std::string::npos);
}

TEST(Reader, KnowsWhoseTheRecordsAreInAFileThatThreadsShareOneAfterTheOther) {
  TestFolder folder("reader");
  {
    test::TestProcess process(folder.path(), 100, 7, 1024);
    test::TestStream& file = process.stream(1, 101);
    const auto call = [&](uint32_t number) {
      CallRecord record{};
      record.call = number;
      file.put(record, Kind::kCall);
    };
    call(1);
    file.put(ThreadFact{{}, 50, 4, 104}, Kind::kThread);
    call(1);
    call(2);
  }
  Result<SessionReader> session = SessionReader::open(folder.path());
  ASSERT_TRUE(session.ok());
  StreamReader& stream = *session->processes()[0].streams[0];
  Record record;
  std::string seen;
  while (stream.next(record))
    if (record.header.kind == Kind::kCall)
      seen += std::to_string(stream.stream()) + ":" + std::to_string(stream.tid()) + " ";
  EXPECT_EQ(seen, "1:101 4:104 4:104 ");
  EXPECT_EQ(stream.number(), 1u);
  EXPECT_FALSE(session->total_damage().any());
}

TEST(Reader, SaysWhatAFolderIsNot) {
  const Result<SessionReader> none = SessionReader::open("/nonexistent/folder");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("give the folder of a recording"), std::string::npos);
}

}  // namespace
}  // namespace wavetap::format
