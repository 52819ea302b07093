// The handler `blocks`: how often each block and each edge between blocks was taken, by how many
// lanes, and where the lanes of a wave parted ways.
//
// Lanes part where an instruction takes some of the active lanes out of EXEC and leaves some. Every
// such instruction ends a block, so the next block tells what became of the mask.
#include <vector>

#include "probe/handlers/builtin.h"
#include "probe/handlers/by_site.h"
#include "probe/handlers/handler_base.h"

namespace wavetap::probe {
namespace {

// How often a block was entered from another.
struct Edge {
  const wavetap_code* code = nullptr;  // null: from the begin of the wave
  uint32_t block = 0;
  bool changes_mask =
      false;  // by the last instruction of the block before, behind which this one is
  uint64_t count = 0;
  uint64_t lanes = 0;
};

// What an instruction that writes EXEC did to it, when it did not leave it as it was.
struct MaskChange {
  uint64_t count = 0;  // of entries by the edge, whatever became of the mask
  uint64_t none = 0;   // no lane is left
  uint64_t split = 0;  // some of them are left
  uint64_t other = 0;  // lanes came back
  uint64_t lanes_after = 0;
  int64_t lanes_more = 0;  // than before; less than 0: fewer

  void add(const MaskChange& more) {
    count += more.count;
    none += more.none;
    split += more.split;
    other += more.other;
    lanes_after += more.lanes_after;
    lanes_more += more.lanes_more;
  }
};

// Kernels are mostly small blocks: an entry changes the first line of the cache, and the second when
// lanes part or meet.
struct alignas(64) Block {
  // The edges taken most recently, with what is not among `edges` yet: waves come by turns from the body of
  // an `if` and from past it.
  Edge recent[2];

  MaskChange change;   // of the instruction before the block
  uint64_t count = 0;  // without those of `recent`, like `lanes`
  uint64_t lanes = 0;

  uint64_t empty = 0;  // entered with no active lane
  std::vector<Edge> edges;

  // The edge that a wave came by.
  Edge& edge_of(const wavetap_block& event) {
    // One that was never used is as good as the edge from the begin of a wave.
    for (Edge& edge : recent)
      if (edge.code == event.from_code && edge.block == event.from_block) return edge;
    return new_edge(event);
  }
  [[gnu::noinline]] Edge& new_edge(const wavetap_block& event) {
    const wavetap_code& code = *event.at.code;
    const uint32_t site = event.at.site;
    add_recent(recent[1]);
    recent[1] = recent[0];
    recent[0] = {event.from_code, event.from_block,
                 event.from_code == &code && site != 0 &&
                     (code.sites[site - 1].flags & WAVETAP_SITE_WRITES_EXEC) != 0 &&
                     code.sites[event.from_block].block_end == site,
                 0, 0};
    return recent[0];
  }
  void add_recent(Edge& edge) {
    count += edge.count;
    lanes += edge.lanes;
    if (edge.changes_mask) change.count += edge.count, change.lanes_after += edge.lanes;
    add_edge(edge);
    edge.count = edge.lanes = 0;
  }
  void add_edge(const Edge& edge) {
    if (edge.count == 0) return;
    for (Edge& known : edges)
      if (known.code == edge.code && known.block == edge.block) {
        known.count += edge.count;
        return;
      }
    edges.push_back(edge);
  }
};

uint64_t count_lanes(uint64_t mask) { return static_cast<uint64_t>(__builtin_popcountll(mask)); }

struct BlockDispatch {
  explicit BlockDispatch(const wavetap_dispatch&) {}
  BySite<Block> blocks;

  void add(struct BlockStrand& strand);
  void report(JsonText& json, const wavetap_dispatch&, const wavetap_host&);
};

struct BlockStrand {
  explicit BlockStrand(const BlockDispatch&) {}

  void block(const wavetap_block& event) {
    Block& block = blocks.at(*event.at.code, event.at.site);
    const uint64_t after = event.at.exec;
    const uint64_t lanes = count_lanes(after);
    Edge& edge = block.edge_of(event);
    ++edge.count;
    edge.lanes += lanes;
    if (after == 0) ++block.empty;
    const uint64_t before = event.from_exec;
    if (!edge.changes_mask || after == before) return;
    MaskChange& change = block.change;
    ++(after == 0 ? change.none : (after & ~before) == 0 ? change.split : change.other);
    change.lanes_more += static_cast<int64_t>(lanes - count_lanes(before));
  }

  void sum(const wavetap_sum& sum) {
    Block& block = blocks.at(*sum.code, sum.site);
    if (sum.what == WAVETAP_SUM_EDGE) {
      block.add_edge({sum.from_code, sum.from_block, false, sum.count, 0});
      return;
    }
    block.count += sum.count;
    block.lanes += sum.lanes;
  }

  BySite<Block> blocks;
};

void BlockDispatch::add(BlockStrand& strand) {
  strand.blocks.for_each([&](const wavetap_code& code, uint32_t site, Block& theirs) {
    for (Edge& edge : theirs.recent) theirs.add_recent(edge);
    if (theirs.count == 0) return;
    Block& ours = blocks.at(code, site);
    ours.count += theirs.count;
    ours.lanes += theirs.lanes;
    ours.empty += theirs.empty;
    for (const Edge& edge : theirs.edges) ours.add_edge(edge);
    ours.change.add(theirs.change);
  });
}

void BlockDispatch::report(JsonText& json, const wavetap_dispatch&, const wavetap_host&) {
  const auto begin_table = [&](const char* name, std::initializer_list<const char*> columns) {
    json.key(name).begin_object().key("columns").begin_array();
    for (const char* column : columns) json.text(column);
    json.end_array().key("rows").begin_array();
  };
  json.begin_object();
  begin_table("blocks", {"code", "block", "end", "count", "lanes", "empty"});
  blocks.for_each([&](const wavetap_code& code, uint32_t site, const Block& block) {
    if (block.count == 0) return;
    json.begin_array().number(code.id).number(site).number(code.sites[site].block_end);
    json.number(block.count).number(block.lanes).number(block.empty).end_array();
  });
  json.end_array().end_object();
  // From -1, 0: the begin of the wave.
  begin_table("edges", {"from_code", "from_block", "code", "block", "count"});
  blocks.for_each([&](const wavetap_code& code, uint32_t site, const Block& block) {
    for (const Edge& edge : block.edges) {
      json.begin_array().signed_number(edge.code == nullptr ? -1 : int64_t{edge.code->id});
      json.number(edge.block).number(code.id).number(site).number(edge.count).end_array();
    }
  });
  json.end_array().end_object();
  begin_table("masks",
              {"code", "site", "kept", "none", "split", "other", "lanes_before", "lanes_after"});
  blocks.for_each([&](const wavetap_code& code, uint32_t site, const Block& block) {
    const MaskChange& change = block.change;
    if (change.count == 0) return;
    json.begin_array().number(code.id).number(site - 1);
    json.number(change.count - change.none - change.split - change.other);
    json.number(change.none).number(change.split).number(change.other);
    json.number(change.lanes_after - static_cast<uint64_t>(change.lanes_more));
    json.number(change.lanes_after).end_array();
  });
  json.end_array().end_object().end_object();
}

}  // namespace

const wavetap_handler* open_blocks(const wavetap_host* host, const char*) {
  return HandlerOf<BlockDispatch, BlockStrand>::open(host, "blocks", WAVETAP_BLOCKS | WAVETAP_SUMS);
}

}  // namespace wavetap::probe
