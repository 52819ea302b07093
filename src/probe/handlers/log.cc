// The handler `log`: every event as a line of JSON, in log.jsonl of the results (docs/probe.md has the
// fields). Addresses of lanes that follow one stride are written as base and stride. Lines of one
// workgroup are in order; those of several mix in runs of some hundred.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "probe/handlers/builtin.h"
#include "probe/handlers/handler_base.h"
#include "probe/handlers/json_text.h"

namespace wavetap::probe {
namespace {

constexpr uint64_t kDefaultLimit = 1'000'000;
constexpr size_t kBufferBytes = 64 << 10;

constexpr const char* kSpaces[] = {"global", "lds", "scratch"};
constexpr const char* kAccesses[] = {"load", "store", "atomic", "atomic_return"};
constexpr const char* kWaves[] = {"begins", "ends", "faults", "abandoned"};
constexpr const char* kBarriers[] = {"reached", "passed"};

struct Log {
  const wavetap_host* host = nullptr;
  wavetap_handler calls{};
  uint64_t limit = 0;
  std::atomic<uint64_t> written{0};
};

// Lines that wait to be written.
struct Lines {
  explicit Lines(Log& to) : log(to) {}
  ~Lines() { flush(); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The begin of a line; null when the limit is reached: the event is counted as lost.
  JsonText* begin(const char* event) {
    if (log.written.fetch_add(1, std::memory_order_relaxed) >= log.limit) {
      ++lost;
      return nullptr;
    }
    ++count;
    json.begin_object().key("event").text(event);
    return &json;
  }
  void end() {
    json.end_object();
    json.end_line();
    if (json.size() >= kBufferBytes) flush();
  }
  void flush() {
    if (json.size() != 0 &&
        log.host->write(log.host->context, "jsonl", json.string().data(), json.size()) == 0)
      lost += count;
    json.clear();
    count = 0;
    if (lost != 0) log.host->lose(log.host->context, lost);
    lost = 0;
  }

  Log& log;
  JsonText json;
  uint64_t count = 0;
  uint64_t lost = 0;
};

void put_point(JsonText& json, const wavetap_point& at) {
  json.key("dispatch").number(at.wave->dispatch->id);
  json.key("workgroup").begin_array();
  for (const uint32_t id : at.wave->workgroup) json.number(id);
  json.end_array().key("wave").number(at.wave->number);
  if (at.code == nullptr) return;
  const wavetap_site& site = at.code->sites[at.site];
  json.key("code").number(at.code->id).key("site").number(at.site);
  json.key("pc").hex(at.code->address + site.offset).key("op").text(site.mnemonic);
  json.key("exec").hex(at.exec);
}

void put_addresses(JsonText& json, const wavetap_memory& event) {
  const int first = std::countr_zero(event.lanes);
  const uint64_t others = event.lanes & (event.lanes - 1);
  const uint64_t base = event.address[first];
  int64_t stride = 0;
  bool affine = true;
  if (others != 0) {
    const int second = std::countr_zero(others);
    const auto step = static_cast<int64_t>(event.address[second] - base);
    stride = step / (second - first);
    for (uint64_t rest = others; rest != 0 && affine; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      affine = static_cast<int64_t>(event.address[lane] - base) == stride * (lane - first);
    }
  }
  if (affine) {
    json.key("base").hex(base).key("stride").signed_number(stride);
    return;
  }
  json.key("address").begin_array();
  for (uint64_t rest = event.lanes; rest != 0; rest &= rest - 1)
    json.hex(event.address[std::countr_zero(rest)]);
  json.end_array();
}

void on_wave(void* strand, const wavetap_wave_event* event) {
  auto& lines = *static_cast<Lines*>(strand);
  JsonText* json = lines.begin("wave");
  if (json == nullptr) return;
  json->key("what").text(kWaves[event->what]);
  put_point(*json, event->at);
  lines.end();
}

void on_block(void* strand, const wavetap_block* event) {
  auto& lines = *static_cast<Lines*>(strand);
  JsonText* json = lines.begin("block");
  if (json == nullptr) return;
  put_point(*json, event->at);
  if (event->from_code != nullptr)
    json->key("from_code").number(event->from_code->id).key("from").number(event->from_block);
  lines.end();
}

void on_memory(void* strand, const wavetap_memory* event) {
  auto& lines = *static_cast<Lines*>(strand);
  JsonText* json = lines.begin("memory");
  if (json == nullptr) return;
  put_point(*json, event->at);
  json->key("space").text(kSpaces[event->space]).key("access").text(kAccesses[event->access]);
  if ((event->flags & WAVETAP_SCALAR) != 0) json->key("scalar").number(1);
  if ((event->flags & WAVETAP_DMA) != 0) json->key("dma").number(1);
  if (event->parts > 1) json->key("part").number(event->part);
  json->key("bytes").number(event->element_bytes).key("lanes").hex(event->lanes);
  if (event->outside != 0) json->key("outside").hex(event->outside);
  if (event->lanes != 0) put_addresses(*json, *event);
  lines.end();
}

void on_barrier(void* strand, const wavetap_barrier* event) {
  auto& lines = *static_cast<Lines*>(strand);
  JsonText* json = lines.begin("barrier");
  if (json == nullptr) return;
  json->key("what").text(kBarriers[event->what]);
  put_point(*json, event->at);
  lines.end();
}

void on_message(void* strand, const wavetap_message* event) {
  auto& lines = *static_cast<Lines*>(strand);
  JsonText* json = lines.begin("message");
  if (json == nullptr) return;
  put_point(*json, event->at);
  json->key("kind").number(event->kind).key("value").number(event->value);
  lines.end();
}

void put_dispatch(Log& log, const char* what, const wavetap_dispatch& described) {
  Lines lines(log);
  JsonText* json = lines.begin(what);
  if (json == nullptr) return;
  json->key("dispatch").number(described.id).key("kernel").text(described.kernel);
  json->key("target").text(described.target).key("gpu").number(described.gpu);
  json->key("grid_size").begin_array();
  for (const uint32_t size : described.grid_size) json->number(size);
  json->end_array().key("workgroup_size").begin_array();
  for (const uint32_t size : described.workgroup_size) json->number(size);
  json->end_array().key("wave_size").number(described.wave_size);
  json->key("status").number(described.status);
  lines.end();
}

}  // namespace

const wavetap_handler* open_log(const wavetap_host* host, const char* arguments) {
  uint64_t limit = kDefaultLimit;
  if (std::strncmp(arguments, "limit=", 6) == 0) {
    char* end = nullptr;
    limit = std::strtoull(arguments + 6, &end, 10);
    if (*end != '\0' || arguments[6] == '\0') {
      host->refuse(host->context, "write log=limit=N, N being a number of records");
      return nullptr;
    }
  } else if (*arguments != '\0') {
    host->refuse(host->context, "the only argument it knows is limit=N");
    return nullptr;
  }
  auto& log = make_handler<Log>();
  log.host = host;
  log.limit = limit;
  wavetap_handler& calls = log.calls;
  calls.size = sizeof calls;
  calls.name = "log";
  calls.wants =
      WAVETAP_WAVES | WAVETAP_BLOCKS | WAVETAP_MEMORY | WAVETAP_BARRIERS | WAVETAP_MESSAGES;
  calls.self = &log;
  calls.dispatch_begin = [](void* self, const wavetap_dispatch* described) -> void* {
    put_dispatch(*static_cast<Log*>(self), "dispatch_begins", *described);
    return nullptr;
  };
  calls.strand_begin = [](void* self, void*) -> void* {
    return new Lines(*static_cast<Log*>(self));
  };
  calls.wave = on_wave;
  calls.block = on_block;
  calls.memory = on_memory;
  calls.barrier = on_barrier;
  calls.message = on_message;
  calls.strand_end = [](void*, void*, void* strand) { delete static_cast<Lines*>(strand); };
  calls.dispatch_end = [](void* self, void*, const wavetap_dispatch* described) {
    auto& to = *static_cast<Log*>(self);
    put_dispatch(to, "dispatch_ends", *described);
    JsonText json;
    const uint64_t seen = to.written.load(std::memory_order_relaxed);
    json.begin_object().key("records").number(std::min(seen, to.limit)).end_object();
    to.host->result(to.host->context, described, json.string().data(), json.size());
  };
  return &calls;
}

}  // namespace wavetap::probe
