// Folded stacks, "a;b;c 123" per line, as flame-graph tools read them: calls and markers by
// nesting, with the kernels they launched as leaves. The number is exclusive time in nanoseconds,
// CPU for calls and GPU for kernels; kernels are marked [gpu] so that the two are never mistaken
// for each other.
//
// Every line repeats the stack above it, so text grows with the square of the depth. Stacks end at
// kDeepestFrame frames; the time of what lies deeper counts there, as "[deeper]".
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "analysis/callstack_tree.h"
#include "analysis/flame_tree.h"
#include "export/formats.h"
#include "util/text.h"

namespace wavetap::exporter {
namespace {

constexpr size_t kDeepestFrame = 512;

// Frames are separated by ';' and lines by '\n', so neither may occur in a name; and a strict reader
// takes UTF-8 alone.
std::string frame_name(std::string_view name, bool is_kernel) {
  std::string out = is_kernel ? "[gpu] " : "";
  for (const char c : util::valid_utf8(name))
    out += c == ';' ? ',' : static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return name.empty() ? out + "?" : out;
}

class FoldedWriter {
 public:
  FoldedWriter(const analysis::FlameTree& tree, Sink& sink) : tree_(tree), sink_(sink) {}

  void run() {
    list_children();
    // Each entry: a node, and how much of path_ is its caller's.
    std::vector<std::pair<uint32_t, size_t>> pending;
    for (const uint32_t child : children_of(0)) pending.push_back({child, 0});
    while (!pending.empty()) {
      const auto [node, above] = pending.back();
      pending.pop_back();
      path_.resize(above);
      if (!path_.empty()) path_ += ';';
      path_ += frame_name(tree_.names[tree_.name[node]], tree_.is_kernel[node]);
      const int64_t self = tree_.cpu_self[node] + tree_.gpu_self[node];
      if (self > 0 || tree_.is_kernel[node]) line(path_, self);
      if (depth_[node] < kDeepestFrame) {
        for (const uint32_t child : children_of(node)) pending.push_back({child, path_.size()});
      } else {
        const int64_t cpu = tree_.cpu_total[node] - tree_.cpu_self[node];
        const int64_t gpu = tree_.gpu_total[node] - tree_.gpu_self[node];
        if (cpu > 0) line(path_ + ";[deeper]", cpu);
        if (gpu > 0) line(path_ + ";[gpu] [deeper]", gpu);
      }
    }
  }

 private:
  // Children of a node, last by name first, as a stack takes them.
  std::span<const uint32_t> children_of(uint32_t node) const {
    return {order_.data() + first_[node], order_.data() + first_[node + 1]};
  }

  void list_children() {
    first_.assign(tree_.size() + 1, 0);
    depth_.assign(tree_.size(), 0);
    for (uint32_t node = 1; node < tree_.size(); ++node) {
      ++first_[tree_.parent[node] + 1];
      depth_[node] = depth_[tree_.parent[node]] + 1;
    }
    for (size_t node = 1; node < first_.size(); ++node) first_[node] += first_[node - 1];
    order_.resize(first_.back());
    std::vector<uint32_t> fill(first_);
    for (uint32_t node = 1; node < tree_.size(); ++node) order_[fill[tree_.parent[node]]++] = node;
    const auto later = [&](uint32_t a, uint32_t b) {
      return std::pair(tree_.is_kernel[a], tree_.names[tree_.name[a]]) >
             std::pair(tree_.is_kernel[b], tree_.names[tree_.name[b]]);
    };
    for (size_t node = 0; node < tree_.size(); ++node)
      std::sort(order_.begin() + first_[node], order_.begin() + first_[node + 1], later);
  }

  void line(std::string_view stack, int64_t ns) {
    sink_.write(stack);
    sink_.put(' ');
    sink_.integer(ns);
    sink_.put('\n');
  }

  const analysis::FlameTree& tree_;
  Sink& sink_;
  std::vector<uint32_t> first_, order_, depth_;
  std::string path_;
};

}  // namespace

Status write_folded(const store::Trace& trace, const Options& options, Sink& sink) {
  const analysis::FlameTree tree = analysis::build_flame_tree(
      trace, analysis::build_call_tree(trace), options.window(), /*by_thread=*/true);
  FoldedWriter(tree, sink).run();
  return {};
}

}  // namespace wavetap::exporter
