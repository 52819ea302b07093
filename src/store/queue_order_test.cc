#include "store/queue_order.h"

#include <gtest/gtest.h>

#include <string>

namespace wavetap::store {
namespace {

using CallKind = QueuedCall::Kind;
using OpKind = QueuedOp::Kind;

constexpr uint64_t kNull = null_stream(0);

// Builds a history: calls of thread 1, numbered from 1, one every ten units of time.
class QueueOrderTest : public testing::Test {
 protected:
  uint32_t call(CallKind kind, uint64_t stream, std::string_view kernel = "", uint64_t bytes = 0) {
    QueuedCall c;
    c.kind = kind;
    c.names_stream = true;
    c.owner = {1, static_cast<uint32_t>(calls.size() + 1)};
    c.start = now;
    c.end = now + 5;
    c.stream = stream;
    c.kernel = kernel;
    c.bytes = bytes;
    calls.push_back(c);
    now += 10;
    return c.owner.call;
  }
  void op(uint32_t worker, std::string_view kernel, OpKind kind = OpKind::kKernel,
          uint64_t bytes = 0) {
    ops.push_back({kind, worker, now++, bytes, kernel});
  }
  // The numbers of the calls the operations were given to, "-" for none.
  std::string owners() {
    std::string text;
    for (const format::Owner owner : owners_by_order(calls, ops, workers))
      text += (text.empty() ? "" : " ") +
              (owner.call == 0 ? std::string("-") : std::to_string(owner.call));
    return text;
  }

  uint64_t now = 100;
  std::vector<QueuedCall> calls;
  std::vector<QueuedOp> ops;
  std::vector<QueueWorker> workers;
};

TEST_F(QueueOrderTest, EachWorkerServesTheStreamItWasBornFor) {
  call(CallKind::kCreate, 0xa);                                   // 1, at 100
  call(CallKind::kCreate, 0xb);                                   // 2, at 110
  workers = {{7, 112}, {8, 103}};                                 // 7 serves b, 8 serves a
  for (int i = 0; i < 3; ++i) call(CallKind::kLaunch, 0xb, "k");  // 3 4 5
  for (int i = 0; i < 3; ++i) call(CallKind::kLaunch, 0xa, "k");  // 6 7 8
  for (int i = 0; i < 3; ++i) op(8, "k"), op(7, "k");
  EXPECT_EQ(owners(), "6 3 7 4 8 5");
}

TEST_F(QueueOrderTest, WithoutABirthTheStreamThatFitsIsTaken) {
  workers = {{7, 0}, {8, 0}};
  call(CallKind::kLaunch, 0xa, "first");   // 1
  call(CallKind::kLaunch, 0xb, "second");  // 2
  call(CallKind::kLaunch, 0xa, "second");  // 3
  op(7, "second");
  op(8, "first");
  op(8, "second");
  // Worker 7 fits both streams, 8 the first one alone.
  EXPECT_EQ(owners(), "2 1 3");
}

// Two threads: one makes a stream while the other is the first to use the null stream.
TEST_F(QueueOrderTest, OneStreamHasOneWorker) {
  call(CallKind::kCreate, 0xa);         // 1, at 100
  call(CallKind::kLaunch, kNull, "k");  // 2, at 110
  calls[0].end = calls[1].end = 130;
  workers = {{7, 115}, {8, 105}};  // 7 may serve either
  now = 140;
  for (int i = 0; i < 2; ++i) call(CallKind::kLaunch, 0xa, "k");  // 3 4
  op(8, "k"), op(7, "k"), op(8, "k");
  EXPECT_EQ(owners(), "3 2 4");
}

TEST_F(QueueOrderTest, TheShapeOfALaunchTellsStreamsApart) {
  workers = {{7, 0}, {8, 0}};
  call(CallKind::kLaunch, 0xa, "k");  // 1
  calls.back().shape = {{256, 1, 1}, {64, 1, 1}};
  call(CallKind::kLaunch, 0xb, "k");  // 2
  calls.back().shape = {{512, 1, 1}, {64, 1, 1}};
  op(7, "k");
  ops.back().shape = {{512, 1, 1}, {64, 1, 1}};
  op(8, "k");
  ops.back().shape = {{256, 1, 1}, {64, 1, 1}};
  EXPECT_EQ(owners(), "2 1");
}

TEST_F(QueueOrderTest, WorkIsDoneBeforeACallThatWaitedForItReturns) {
  workers = {{7, 0}, {8, 0}};
  call(CallKind::kLaunch, 0xa, "k");  // 1
  call(CallKind::kLaunch, 0xb, "k");  // 2
  op(8, "k");
  call(CallKind::kWait, 0xa);  // 3
  op(7, "k");                  // too late to be a's
  EXPECT_EQ(owners(), "1 2");
}

// Two threads launch on one stream: the second to begin was the first to be queued.
TEST_F(QueueOrderTest, CallsThatOverlapMayBeQueuedInEitherOrder) {
  workers = {{7, 0}};
  for (int i = 0; i < 2; ++i) {
    call(CallKind::kLaunch, kNull, "first");  // 1 4
    calls.back().end = now + 20;
    call(CallKind::kLaunch, kNull, "second");  // 2 5
    call(CallKind::kCopy, kNull, "", 50);      // 3 6
    now += 20;
    op(7, "second"), op(7, "first"), op(7, "", OpKind::kCopy, 50);
  }
  EXPECT_EQ(owners(), "2 1 3 5 4 6");
}

// Two threads launch the same; what the second one launches after that shows which was first.
TEST_F(QueueOrderTest, OfCallsThatOverlapTheOneThatEndedIsFirst) {
  workers = {{7, 0}};
  call(CallKind::kLaunch, kNull, "k");  // 1
  calls.back().end = now + 30;
  call(CallKind::kLaunch, kNull, "k");      // 2
  call(CallKind::kLaunch, kNull, "after");  // 3
  now += 20;
  op(7, "k"), op(7, "after"), op(7, "k");
  EXPECT_EQ(owners(), "2 3 1");
}

TEST_F(QueueOrderTest, CopiesThatOverlapAreKnownByTheirSize) {
  workers = {{7, 0}};
  call(CallKind::kCopy, kNull, "", 100);  // 1
  calls.back().end = now + 20;
  call(CallKind::kCopy, kNull, "", 60);  // 2
  op(7, "", OpKind::kCopy, 60);
  op(7, "", OpKind::kCopy, 100);
  EXPECT_EQ(owners(), "2 1");
}

TEST_F(QueueOrderTest, LaunchesThatReachNoQueueArePassedOver) {
  workers = {{7, 0}};
  call(CallKind::kBeginCapture, kNull);
  call(CallKind::kLaunch, kNull, "k");  // 2: becomes a node
  call(CallKind::kEndCapture, kNull);
  call(CallKind::kLaunch, kNull, "lost");  // 4: nothing came of it
  call(CallKind::kLaunch, kNull, "k");     // 5
  op(7, "k");
  op(7, "k");
  EXPECT_EQ(owners(), "5 -");
}

TEST_F(QueueOrderTest, GraphsGetWhatLaunchesDoNot) {
  workers = {{7, 0}};
  call(CallKind::kLaunch, kNull, "k");  // 1
  call(CallKind::kGraph, kNull);        // 2: three nodes
  call(CallKind::kLaunch, kNull, "k");  // 3
  call(CallKind::kGraph, kNull);        // 4: three nodes
  for (int i = 0; i < 8; ++i) op(7, "k");
  EXPECT_EQ(owners(), "1 2 2 2 3 4 4 4");
}

TEST_F(QueueOrderTest, AHandleIsAnotherStreamAfterItsEnd) {
  call(CallKind::kCreate, 0xa);       // 1, at 100
  call(CallKind::kLaunch, 0xa, "k");  // 2
  call(CallKind::kDestroy, 0xa);      // 3
  call(CallKind::kCreate, 0xa);       // 4, at 130
  call(CallKind::kLaunch, 0xa, "k");  // 5
  workers = {{7, 101}, {8, 131}};
  op(8, "k");
  op(7, "k");
  EXPECT_EQ(owners(), "5 2");
}

TEST_F(QueueOrderTest, CopiesAndFillsGoInTheirOwnOrder) {
  workers = {{7, 0}};
  call(CallKind::kCopy, kNull, "", 100);  // 1: in two parts
  call(CallKind::kFill, kNull);           // 2
  call(CallKind::kLaunch, kNull, "k");    // 3
  call(CallKind::kCopy, kNull, "", 50);   // 4
  op(7, "", OpKind::kCopy, 60);
  op(7, "", OpKind::kCopy, 40);
  op(7, "__amd_rocclr_fillBuffer", OpKind::kFillKernel);
  op(7, "k");
  op(7, "", OpKind::kCopy, 50);
  op(7, "", OpKind::kCopy, 50);  // nobody asked for it
  EXPECT_EQ(owners(), "1 1 2 3 4 -");
}

TEST_F(QueueOrderTest, AGraphHasWorkersOfItsOwn) {
  call(CallKind::kCreate, 0x66);  // 1, at 100: the graph, with a stream for its second branch
  workers = {{7, 0}, {8, 103}};
  call(CallKind::kGraph, kNull);  // 2
  calls.back().graph = 0x66;
  op(7, "a"), op(8, "b"), op(7, "", OpKind::kCopy, 10);
  call(CallKind::kGraph, kNull);  // 3
  calls.back().graph = 0x66;
  op(7, "a"), op(8, "b"), op(7, "", OpKind::kCopy, 10);
  EXPECT_EQ(owners(), "2 2 2 3 3 3");
}

TEST_F(QueueOrderTest, ACopyThatIsWaitedForIsFoundOnAnyQueue) {
  call(CallKind::kCreate, null_stream(1));  // 1, at 100
  workers = {{7, 103}};
  call(CallKind::kCopy, kNull, "", 100);  // 2: the other device does it
  calls.back().synchronous = true;
  calls.back().end = now + 10;
  op(7, "", OpKind::kCopy, 100);
  EXPECT_EQ(owners(), "2");
}

TEST_F(QueueOrderTest, NothingIsGivenToACallThatCameLater) {
  workers = {{7, 0}};
  op(7, "k");
  call(CallKind::kLaunch, kNull, "k");
  EXPECT_EQ(owners(), "-");
}

}  // namespace
}  // namespace wavetap::store
