// How long `run --swap` takes to begin with a folder of a thousand code objects: the first time, and when
// the cache knows them. Goal: less than 100 ms then.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <string>

#include "base/sys_files.h"
#include "swap/index.h"
#include "swap/table.h"

namespace wavetap::swap {
namespace {

#ifdef WT_BENCH_CODE_OBJECT
// A folder that lives as long as the program.
const std::string& folder() {
  static const std::string path = [] {
    char name[] = "/tmp/wt-swap-bench-XXXXXX";
    const std::string made = mkdtemp(name) == nullptr ? "" : name;
    const std::string code = wavetap::sys::read_file(WT_BENCH_CODE_OBJECT, SIZE_MAX).value_or("");
    for (int i = 0; i < 1000; ++i)
      wavetap::sys::write_file(made + "/kernels/" + std::to_string(i) + ".hsaco", code);
    atexit([] { wavetap::sys::remove_tree(path); });
    return made;
  }();
  return path;
}

void start(benchmark::State& state, const std::string& cache) {
  Result<Index> index = make_index(folder() + "/kernels", cache);
  if (!index.ok() || index->files.size() != 1000) {
    state.SkipWithError("the folder has no thousand files");
    return;
  }
  const std::string text = Table(candidates_of(*index, "")).text();
  benchmark::DoNotOptimize(Table::parse(text).ok());
}

void index_1000_cold(benchmark::State& state) {
  folder();
  for (auto _ : state) start(state, "");
}
BENCHMARK(index_1000_cold)->Unit(benchmark::kMillisecond);

void index_1000_warm(benchmark::State& state) {
  const std::string cache = folder() + "/cache";
  start(state, cache);
  for (auto _ : state) start(state, cache);
}
BENCHMARK(index_1000_warm)->Unit(benchmark::kMillisecond);
#endif

}  // namespace
}  // namespace wavetap::swap
