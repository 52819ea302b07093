#include "analysis/flame_tree.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "analysis/marker.h"

namespace wavetap::analysis {
namespace {

using store::kNoRow;

class Builder {
 public:
  Builder(const store::Trace& trace, const CallTree& tree, const Window& window, bool by_thread)
      : trace_(trace),
        tree_(tree),
        window_(window),
        by_thread_(by_thread),
        marker_(trace.strings.find("UserMarker")),
        name_of_(trace.strings.size(), 0) {}

  FlameTree build() {
    add(kNoRow, out_.names.intern("all"), false);
    node_of_.assign(trace_.apis.size(), 0);
    for (const uint32_t row : tree_.order) add_call(row);
    add_kernels();
    add_up();
    return std::move(out_);
  }

 private:
  uint32_t add(uint32_t parent, store::Str name, bool is_kernel) {
    out_.parent.push_back(parent);
    out_.name.push_back(name);
    out_.is_kernel.push_back(is_kernel);
    out_.cpu_self.push_back(0);
    out_.gpu_self.push_back(0);
    return static_cast<uint32_t>(out_.size() - 1);
  }

  uint32_t child(uint32_t parent, store::Str name, bool is_kernel) {
    // A kernel may be called like a call beside it.
    const uint64_t key = uint64_t{parent} << 32 | (is_kernel ? 1u << 31 : 0u) | name;
    const auto [it, is_new] = children_.try_emplace(key, 0);
    if (is_new) it->second = add(parent, name, is_kernel);
    return it->second;
  }

  store::Str name(store::Str text) {
    if (name_of_[text] == 0 && text != 0) name_of_[text] = out_.names.intern(trace_.str(text));
    return name_of_[text];
  }

  // Also calls outside the window get a node: those within may lie inside of them.
  void add_call(uint32_t row) {
    const uint32_t parent =
        tree_.parent[row] != kNoRow ? node_of_[tree_.parent[row]] : root(trace_.apis.thread[row]);
    const std::string_view args = trace_.args(row);
    const bool marker = trace_.apis.name[row] == marker_ && !args.empty();
    node_of_[row] =
        child(parent, marker ? out_.names.intern(marker_label(args)) : name(trace_.apis.name[row]),
              false);
    if (window_.holds(trace_.apis.start[row]))
      out_.cpu_self[node_of_[row]] += std::max<int64_t>(0, tree_.cpu_self[row]);
  }

  uint32_t root(uint32_t thread) {
    if (!by_thread_) return 0;
    return child(0, out_.names.intern("thread " + std::to_string(trace_.threads[thread].tid)),
                 false);
  }

  void add_kernels() {
    for (size_t i = 0; i < trace_.links.size(); ++i) {
      const uint32_t api = trace_.links.api[i], op = trace_.links.op[i];
      if (api == kNoRow || op == kNoRow || !window_.holds(trace_.apis.start[api])) continue;
      out_.gpu_self[child(node_of_[api], name(trace_.ops.name(op)), true)] +=
          std::max<int64_t>(0, trace_.ops.end[op] - trace_.ops.start[op]);
    }
  }

  void add_up() {
    out_.cpu_total = out_.cpu_self;
    out_.gpu_total = out_.gpu_self;
    for (size_t node = out_.size(); node-- > 1;) {
      out_.cpu_total[out_.parent[node]] += out_.cpu_total[node];
      out_.gpu_total[out_.parent[node]] += out_.gpu_total[node];
    }
  }

  const store::Trace& trace_;
  const CallTree& tree_;
  const Window& window_;
  const bool by_thread_;
  const store::Str marker_;
  FlameTree out_;
  std::vector<store::Str> name_of_;  // by the trace's Str
  std::vector<uint32_t> node_of_;    // by call
  std::unordered_map<uint64_t, uint32_t> children_;
};

}  // namespace

FlameTree build_flame_tree(const store::Trace& trace, const CallTree& tree, const Window& window,
                           bool by_thread) {
  return Builder(trace, tree, window, by_thread).build();
}

}  // namespace wavetap::analysis
