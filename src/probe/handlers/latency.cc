// The handler `latency`: how long waves stay in each block, by the clock of the GPU. Instrumented kernels add it
// up themselves; an engine that is watched has no clock worth reading, so nobody asks it for this.
#include <algorithm>

#include "probe/handlers/builtin.h"
#include "probe/handlers/by_site.h"
#include "probe/handlers/handler_base.h"

namespace wavetap::probe {
namespace {

struct Time {
  uint64_t count = 0;
  uint64_t lanes = 0;
  uint64_t ticks = 0;
  uint64_t most = 0;
};

struct LatencyDispatch {
  explicit LatencyDispatch(const wavetap_dispatch&) {}
  BySite<Time> blocks;

  void add(struct LatencyStrand& strand);
  void report(JsonText& json, const wavetap_dispatch&, const wavetap_host&);
};

struct LatencyStrand {
  explicit LatencyStrand(const LatencyDispatch&) {}

  void block(const wavetap_block& event) { ++blocks.at(*event.at.code, event.at.site).count; }
  void sum(const wavetap_sum& sum) {
    if (sum.what != WAVETAP_SUM_SITE) return;
    Time& time = blocks.at(*sum.code, sum.site);
    time.count += sum.count;
    time.lanes += sum.lanes;
    time.ticks += sum.ticks;
    time.most = std::max(time.most, sum.most_ticks);
  }

  BySite<Time> blocks;
};

void LatencyDispatch::add(LatencyStrand& strand) {
  strand.blocks.for_each([&](const wavetap_code& code, uint32_t site, const Time& theirs) {
    if (theirs.count == 0) return;
    Time& ours = blocks.at(code, site);
    ours.count += theirs.count;
    ours.lanes += theirs.lanes;
    ours.ticks += theirs.ticks;
    ours.most = std::max(ours.most, theirs.most);
  });
}

void LatencyDispatch::report(JsonText& json, const wavetap_dispatch&, const wavetap_host&) {
  json.begin_object().key("columns").begin_array();
  for (const char* name : {"code", "block", "end", "count", "lanes", "ticks", "most"})
    json.text(name);
  json.end_array().key("rows").begin_array();
  blocks.for_each([&](const wavetap_code& code, uint32_t site, const Time& time) {
    if (time.count == 0) return;
    json.begin_array().number(code.id).number(site).number(code.sites[site].block_end);
    json.number(time.count).number(time.lanes).number(time.ticks).number(time.most).end_array();
  });
  json.end_array().end_object();
}

}  // namespace

const wavetap_handler* open_latency(const wavetap_host* host, const char*) {
  return HandlerOf<LatencyDispatch, LatencyStrand>::open(
      host, "latency", WAVETAP_BLOCKS | WAVETAP_SUMS | WAVETAP_TICKS);
}

}  // namespace wavetap::probe
