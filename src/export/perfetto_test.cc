// Decodes the written protobuf with the published field numbers and checks what Perfetto's importer
// relies on: every interned id is known when used, slices nest on their track, flows have both
// ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "export/export.h"

namespace wavetap::exporter {
namespace {

// A flat view of one message: field number -> values in order.
struct Message {
  std::multimap<uint32_t, uint64_t> numbers;
  std::multimap<uint32_t, std::string> bytes;

  std::optional<uint64_t> number(uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::string> text(uint32_t field) const {
    const auto found = bytes.find(field);
    return found == bytes.end() ? std::nullopt : std::optional(found->second);
  }
};

bool take_varint(std::string_view& in, uint64_t& out) {
  out = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::optional<Message> parse(std::string_view in) {
  Message message;
  while (!in.empty()) {
    uint64_t key = 0, value = 0;
    if (!take_varint(in, key)) return std::nullopt;
    const auto field = static_cast<uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        if (!take_varint(in, value)) return std::nullopt;
        message.numbers.emplace(field, value);
        break;
      case 1:
        if (in.size() < 8) return std::nullopt;
        for (int i = 7; i >= 0; --i)
          value = value << 8 | static_cast<unsigned char>(in[static_cast<size_t>(i)]);
        in.remove_prefix(8);
        message.numbers.emplace(field, value);
        break;
      case 2:
        if (!take_varint(in, value) || in.size() < value) return std::nullopt;
        message.bytes.emplace(field, std::string(in.substr(0, value)));
        in.remove_prefix(value);
        break;
      default: return std::nullopt;
    }
  }
  return message;
}

struct Checked {
  size_t slices = 0, instants = 0, samples = 0, flows_begun = 0, flows_ended = 0;
  std::set<std::string> names;
  // As the importer sees it: an end belongs to the innermost slice of its track that is open.
  std::map<std::string, uint64_t> durations;
  size_t depth = 0;
  std::map<uint64_t, std::vector<std::pair<uint64_t, double>>> counters;  // by track: time, value
};

// Reads a trace packet by packet, as the importer does, and says what is wrong with it.
class Checker {
 public:
  Checked check(const std::string& bytes) {
    const std::optional<Message> trace = parse(bytes);
    EXPECT_TRUE(trace.has_value());
    if (!trace) return out_;
    for (const auto& [field, body] : trace->bytes) {
      EXPECT_EQ(field, 1u);
      const std::optional<Message> packet = parse(body);
      EXPECT_TRUE(packet.has_value());
      if (!packet) return out_;
      take(*packet);
    }
    for (const auto& [track, list] : edges_) match_edges(track, list);
    check_flows();
    return out_;
  }

 private:
  struct Edge {
    uint64_t time;
    bool begin;
    std::string name;
  };

  void take(const Message& packet) {
    EXPECT_EQ(packet.number(10), 1u);
    EXPECT_EQ(*packet.number(13) & 1, first_ ? 1u : 0u);
    first_ = false;
    if (const auto interned = packet.text(12)) take_texts(*parse(*interned));
    if (const auto descriptor = packet.text(60)) {
      const std::optional<Message> track = parse(*descriptor);
      EXPECT_TRUE(tracks_.insert(*track->number(1)).second) << "a track is described twice";
      if (const auto parent = track->number(5)) {
        EXPECT_TRUE(tracks_.contains(*parent)) << "parent comes later";
      }
    }
    if (const auto event = packet.text(11)) take_event(*parse(*event), *packet.number(8));
  }

  void take_texts(const Message& tables) {
    for (const auto& [table, bytes] : tables.bytes) {
      const std::optional<Message> entry = parse(bytes);
      (table == 1   ? categories_
       : table == 2 ? event_names_
                    : annotation_names_)[*entry->number(1)] = *entry->text(2);
    }
  }

  void take_event(const Message& event, uint64_t time) {
    const uint64_t track = *event.number(11), type = *event.number(9);
    EXPECT_TRUE(tracks_.contains(track)) << "event on an unknown track";
    if (type == 1 || type == 3) take_named(event, time);
    if (type == 1)
      ++out_.slices, edges_[track].push_back({time, true, event_names_[*event.number(10)]});
    if (type == 2) edges_[track].push_back({time, false, ""});
    if (type == 3) ++out_.instants;
    if (type == 4) {
      ++out_.samples;
      const auto whole = event.number(30), real = event.number(44);
      EXPECT_NE(whole.has_value(), real.has_value());
      out_.counters[track].emplace_back(
          time, whole ? static_cast<double>(*whole) : std::bit_cast<double>(real.value_or(0)));
    }
  }

  void take_named(const Message& event, uint64_t time) {
    EXPECT_TRUE(categories_.contains(*event.number(3)));
    EXPECT_TRUE(event_names_.contains(*event.number(10)));
    out_.names.insert(event_names_[*event.number(10)]);
    for (auto [it, end] = event.bytes.equal_range(4); it != end; ++it)
      EXPECT_TRUE(annotation_names_.contains(*parse(it->second)->number(1)));
    for (auto [it, end] = event.numbers.equal_range(47); it != end; ++it)
      begun_.emplace(it->second, time);
    for (auto [it, end] = event.numbers.equal_range(48); it != end; ++it)
      ended_.emplace(it->second, time);
  }

  void match_edges(uint64_t track, const std::vector<Edge>& list) {
    std::vector<const Edge*> open;
    uint64_t last = 0;
    for (const Edge& edge : list) {
      EXPECT_GE(edge.time, last) << "track " << track << " goes back in time";
      last = edge.time;
      if (edge.begin) {
        open.push_back(&edge);
        out_.depth = std::max(out_.depth, open.size());
        continue;
      }
      EXPECT_FALSE(open.empty());
      if (open.empty()) break;
      out_.durations[open.back()->name] = edge.time - open.back()->time;
      open.pop_back();
    }
    EXPECT_TRUE(open.empty()) << "track " << track << " leaves slices open";
  }

  void check_flows() {
    out_.flows_begun = begun_.size();
    out_.flows_ended = ended_.size();
    for (const auto& [flow, time] : begun_) {
      EXPECT_TRUE(ended_.contains(flow)) << "flow " << flow << " has no end";
      const auto end = ended_.find(flow);
      EXPECT_LE(time, end == ended_.end() ? UINT64_MAX : end->second)
          << "the importer drops such a flow";
    }
    EXPECT_EQ(begun_.size(), ended_.size());
  }

  Checked out_;
  bool first_ = true;
  std::set<uint64_t> tracks_;
  std::map<uint64_t, std::string> event_names_, categories_, annotation_names_;
  std::map<uint64_t, std::vector<Edge>> edges_;  // by track, in the order of the file
  std::map<uint64_t, uint64_t> begun_, ended_;   // flows: when
};

Checked check(const std::string& bytes) { return Checker().check(bytes); }

std::string exported(const store::Trace& trace, const char* format = "perfetto",
                     Options options = {}) {
  Sink sink = Sink::in_memory();
  EXPECT_TRUE(find_format(format)->write(trace, options, sink).ok());
  return std::string(sink.memory());
}

void add_call(store::Trace& trace, int64_t start, int64_t end, const char* name) {
  if (trace.threads.empty()) trace.threads.push_back({1, 1});
  trace.apis.id.push_back(static_cast<int64_t>(trace.apis.id.size()) + 1);
  trace.apis.start.push_back(start);
  trace.apis.end.push_back(end);
  trace.apis.thread.push_back(0);
  trace.apis.name.push_back(trace.strings.intern(name));
  trace.apis.domain.push_back(0);
  trace.apis.category.push_back(0);
}

void add_op(store::Trace& trace, int64_t start, int64_t end, const char* name, uint32_t api) {
  trace.ops.id.push_back(static_cast<int64_t>(trace.ops.id.size()) + 1);
  trace.ops.gpu.push_back(0);
  trace.ops.queue.push_back(0);
  trace.ops.sequence.push_back(1);
  trace.ops.start.push_back(start);
  trace.ops.end.push_back(end);
  trace.ops.description.push_back(trace.strings.intern(name));
  trace.ops.type.push_back(trace.strings.intern("KernelExecution"));
  trace.links.id.push_back(static_cast<int64_t>(trace.links.id.size()) + 1);
  trace.links.api.push_back(api);
  trace.links.op.push_back(static_cast<uint32_t>(trace.ops.size() - 1));
}

TEST(Perfetto, NestsOverlappingCallsAndOps) {
  store::Trace trace;
  add_call(trace, 100, 200, "outer");
  add_call(trace, 120, 180, "inner");
  add_call(trace, 190, 260, "crossing");
  add_call(trace, 300, 300, "instant");
  add_op(trace, 150, 400, "a", 1);
  add_op(trace, 380, 500, "b", 1);  // overlaps its neighbour on the queue
  const Checked checked = check(exported(trace));
  EXPECT_EQ(checked.slices, 5u);
  EXPECT_EQ(checked.instants, 1u);
  EXPECT_EQ(checked.flows_begun, 2u);
  EXPECT_GT(checked.samples, 0u);
  EXPECT_TRUE(checked.names.contains("crossing"));
}

TEST(Perfetto, RangesThatCrossInsideARangeKeepTheirLength) {
  store::Trace trace;
  add_call(trace, 0, 5000, "wide");
  add_call(trace, 1000, 3000, "first");
  add_call(trace, 1500, 2500, "inside the first");
  add_call(trace, 2000, 4000, "second");
  add_call(trace, 3500, 4500, "third");
  const std::map<std::string, uint64_t> expected = {{"wide", 5000},
                                                    {"first", 2000},
                                                    {"inside the first", 1000},
                                                    {"second", 2000},
                                                    {"third", 1000}};
  EXPECT_EQ(check(exported(trace)).durations, expected);
}

TEST(Perfetto, NoTrackIsDeeperThanTheImporterFollows) {
  store::Trace trace;
  constexpr int kCalls = 1100;
  for (int i = 0; i < kCalls; ++i) add_call(trace, i, 2 * kCalls - i, "recursion");
  const Checked checked = check(exported(trace));
  EXPECT_EQ(checked.slices, static_cast<size_t>(kCalls));
  EXPECT_EQ(checked.depth, 512u);
}

TEST(Perfetto, AnOpBeforeItsCallHasAFlowToo) {
  store::Trace trace;
  add_call(trace, 100, 200, "launch");
  add_op(trace, 90, 150, "k", 0);  // clocks disagree
  EXPECT_EQ(check(exported(trace)).flows_begun, 1u);
}

TEST(Perfetto, AWindowBeginsWithTheValuesOfItsCounters) {
  store::Trace trace;
  add_call(trace, 100, 110, "launch");
  add_op(trace, 200, 900, "k", 0);
  Options options;
  options.begin = 500;
  const Checked checked = check(exported(trace, "perfetto", options));
  ASSERT_EQ(checked.counters.size(), 1u);
  using Samples = std::vector<std::pair<uint64_t, double>>;
  EXPECT_EQ(checked.counters.begin()->second, (Samples{{500, 1}, {900, 0}}));
}

TEST(Perfetto, MonitorsKeepTheirValue) {
  store::Trace trace;
  add_call(trace, 100, 900, "call");
  const auto add = [&](int64_t start, int64_t end, const char* value) {
    store::Monitor monitor{};
    monitor.device_type = trace.strings.intern("gpu");
    monitor.type = trace.strings.intern("power");
    monitor.start = start;
    monitor.end = end;
    monitor.value = trace.strings.intern(value);
    trace.monitors.push_back(monitor);
  };
  add(100, 200, "45.5");
  add(200, 300, "046");
  add(300, 400, "not a number");
  add(400, 500, "-3.25");
  add(500, 600, "18446744073709551615");
  add(600, 700, "");
  const Checked checked = check(exported(trace));
  ASSERT_EQ(checked.counters.size(), 1u);
  using Samples = std::vector<std::pair<uint64_t, double>>;
  EXPECT_EQ(checked.counters.begin()->second,
            (Samples{{100, 45.5}, {200, 46}, {400, -3.25}, {500, 0x1p64}}));
}

TEST(Perfetto, AnEmptyTraceIsValid) { EXPECT_EQ(check(exported(store::Trace())).slices, 0u); }

TEST(Perfetto, HoldsEveryRowOfARealTrace) {
  const char* named = std::getenv("WAVETAP_GOLDEN");
  const std::string folder =
      named != nullptr ? named : std::string(WT_SOURCE_DIR) + "/../shared/golden";
  if (!std::filesystem::exists(folder + "/vllm_part_v3.rpd"))
    GTEST_SKIP() << "no reference traces at " << folder;
  store::LoadOptions load;
  load.args = true;
  Result<store::Trace> trace = store::Trace::load(folder + "/vllm_part_v3.rpd", load);
  ASSERT_TRUE(trace.ok());
  const Checked checked = check(exported(*trace));
  EXPECT_EQ(checked.slices + checked.instants, trace->apis.size() + trace->ops.size());
  EXPECT_EQ(checked.flows_ended, trace->links.size());
}

TEST(Folded, NestsAndMarksGpuTime) {
  store::Trace trace;
  add_call(trace, 0, 100, "outer");
  add_call(trace, 10, 30, "a;b");
  add_op(trace, 50, 75, "k", 1);
  EXPECT_EQ(exported(trace, "folded"),
            "thread 1;outer 80\nthread 1;outer;a,b 20\nthread 1;outer;a,b;[gpu] k 25\n");
}

TEST(Folded, NamesThatAreNotUtf8AreWrittenAsUtf8) {
  store::Trace trace;
  add_call(trace, 0, 100, "k\xed\xa0\x80");
  EXPECT_EQ(exported(trace, "folded"), "thread 1;k\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd 100\n");
}

TEST(Jsonl, OneObjectPerRowInTimeOrder) {
  store::Trace trace;
  add_call(trace, 10, 30, "hipLaunchKernel");
  add_op(trace, 50, 75, "k\"", 0);
  EXPECT_EQ(
      exported(trace, "jsonl"),
      "{\"ns\":10,\"kind\":\"call\",\"id\":1,\"pid\":1,\"tid\":1,\"function\":\"hipLaunchKernel\","
      "\"duration_ns\":20}\n"
      "{\"ns\":50,\"kind\":\"kernel\",\"id\":1,\"device\":0,\"queue\":0,\"function\":\"k\\\"\","
      "\"type\":\"KernelExecution\","
      "\"duration_ns\":25,\"call\":1,\"pid\":1}\n");
}

}  // namespace
}  // namespace wavetap::exporter
