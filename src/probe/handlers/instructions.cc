// The handler `instructions`: how often each instruction was executed, by how many lanes.
//
// A block's instructions run as often as the block is entered, by the same lanes: entries are
// counted, and multiplied at the end. Only a wave that faults leaves a block early; what it did not
// get to is taken off again.
#include "probe/handlers/builtin.h"
#include "probe/handlers/by_site.h"
#include "probe/handlers/handler_base.h"

namespace wavetap::probe {
namespace {

struct Entries {
  uint64_t count = 0;
  uint64_t lanes = 0;
};

struct InstructionDispatch {
  explicit InstructionDispatch(const wavetap_dispatch&) {}
  BySite<Entries> sites;

  void add(struct InstructionStrand& strand);
  void report(JsonText& json, const wavetap_dispatch&, const wavetap_host&);
};

struct InstructionStrand {
  explicit InstructionStrand(const InstructionDispatch&) {}

  void block(const wavetap_block& event) {
    Entries& entries = blocks.at(*event.at.code, event.at.site);
    ++entries.count;
    entries.lanes += static_cast<uint64_t>(__builtin_popcountll(event.at.exec));
  }

  void wave(const wavetap_wave_event& event) {
    if ((event.what != WAVETAP_WAVE_FAULTS && event.what != WAVETAP_WAVE_ABANDONED) ||
        event.at.code == nullptr)
      return;
    const wavetap_site& last = event.at.code->sites[event.at.site];
    for (uint32_t site = event.at.site + 1; site < last.block_end; ++site) {
      Entries& missed = not_reached.at(*event.at.code, site);
      ++missed.count;
      missed.lanes += static_cast<uint64_t>(__builtin_popcountll(event.at.exec));
    }
  }

  void sum(const wavetap_sum& sum) {
    if (sum.what != WAVETAP_SUM_SITE) return;
    Entries& entries = blocks.at(*sum.code, sum.site);
    entries.count += sum.count;
    entries.lanes += sum.lanes;
  }

  BySite<Entries> blocks;
  BySite<Entries> not_reached;
};

void InstructionDispatch::add(InstructionStrand& strand) {
  strand.blocks.for_each([&](const wavetap_code& code, uint32_t block, const Entries& entries) {
    if (entries.count == 0) return;
    for (uint32_t site = block; site < code.sites[block].block_end; ++site) {
      if ((code.sites[site].flags & WAVETAP_SITE_SECOND_HALF) != 0) continue;
      Entries& sum = sites.at(code, site);
      sum.count += entries.count;
      sum.lanes += entries.lanes;
    }
  });
  strand.not_reached.for_each([&](const wavetap_code& code, uint32_t site, const Entries& missed) {
    if (missed.count == 0 || (code.sites[site].flags & WAVETAP_SITE_SECOND_HALF) != 0) return;
    Entries& sum = sites.at(code, site);
    sum.count -= missed.count;
    sum.lanes -= missed.lanes;
  });
}

void InstructionDispatch::report(JsonText& json, const wavetap_dispatch&, const wavetap_host&) {
  json.begin_object().key("columns").begin_array();
  for (const char* name : {"code", "site", "count", "lanes"}) json.text(name);
  json.end_array().key("rows").begin_array();
  sites.for_each([&](const wavetap_code& code, uint32_t site, const Entries& entries) {
    if (entries.count == 0) return;
    json.begin_array().number(code.id).number(site).number(entries.count).number(entries.lanes);
    json.end_array();
  });
  json.end_array().end_object();
}

}  // namespace

const wavetap_handler* open_instructions(const wavetap_host* host, const char*) {
  return HandlerOf<InstructionDispatch, InstructionStrand>::open(
      host, "instructions", WAVETAP_BLOCKS | WAVETAP_WAVES | WAVETAP_SUMS);
}

}  // namespace wavetap::probe
