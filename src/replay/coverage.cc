#include "replay/coverage.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/allowed_cpus.h"
#include "emu/exec.h"
#include "isa/program.h"
#include "replay/device_file.h"

namespace wavetap::replay {
namespace {

// What decides how code is decoded and run.
struct CodeKey {
  std::string_view code;
  amd::GfxTarget target;
  bool wave64 = true;

  bool operator==(const CodeKey&) const = default;
};

struct HashCode {
  size_t operator()(const CodeKey& key) const {
    return std::hash<std::string_view>()(key.code) * 31 + amd::kfd_version(key.target) * 2 +
           (key.wave64 ? 1 : 0);
  }
};

struct CodeCoverage {
  uint64_t instructions = 0;
  uint64_t missing_instructions = 0;
  std::vector<Missing> missing;  // without the function's name
};

// Generated assembler fills a kernel up with zeros to where the next one begins. No function's last
// instruction is a zero: it ends, returns or jumps.
std::span<const std::byte> without_padding(std::span<const std::byte> code) {
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  while (code.size() >= 4 && std::ranges::all_of(code.last(4), is_zero))
    code = code.first(code.size() - 4);
  return code;
}

CodeCoverage cover(const DeviceFunction& function, amd::GfxTarget target) {
  CodeCoverage coverage;
  const isa::Program program =
      isa::decode(without_padding(function.code), {function.address}, target, function.wave64);
  std::map<std::string, Missing> missing;
  for (int32_t i = 0; i < program.size(); ++i) {
    const isa::Inst& inst = program.insts()[i];
    if (inst.size_bytes == 0) continue;  // the second half of a pair, looked up with the first
    ++coverage.instructions;
    if (inst.op != isa::Op::kInvalid &&
        emu::find_handler(inst, {target, function.wave64}) != nullptr)
      continue;
    ++coverage.missing_instructions;
    const std::string operation =
        inst.op == isa::Op::kInvalid ? "(undecodable)" : isa::op_name(inst.op);
    Missing& entry = missing[operation];
    if (entry.count++ != 0) continue;
    const GpuAddr pc = program.pc_of(i);
    entry.operation = operation;
    entry.example = isa::disassemble(function.code.subspan(pc.value - function.address), target,
                                     function.wave64, pc);
  }
  for (auto& [operation, entry] : missing) coverage.missing.push_back(std::move(entry));
  return coverage;
}

// work(0) … work(count - 1), each once, on several threads. The caller's is one of them, and calls
// progress(done) now and then, and at the end.
template <class Work, class Progress>
void for_each_on_threads(size_t count, unsigned threads, Work&& work, Progress&& progress) {
  std::atomic<size_t> next{0};
  const auto take = [&](auto&& tell) {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      tell(i);
      work(i);
    }
  };
  if (threads == 0) threads = static_cast<unsigned>(allowed_cpus());
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, count); ++i)
    others.emplace_back([&] { take([](size_t) {}); });
  take(progress);
  for (std::thread& other : others) other.join();
  progress(count);
}

// Code that occurs once or more.
struct Unique {
  const DeviceFunction* function = nullptr;
  amd::GfxTarget target;
  CodeCoverage coverage;
};

}  // namespace

std::vector<ObjectCoverage> find_coverage(
    std::span<const codeobj::CodeObject* const> objects, unsigned threads,
    const std::function<void(size_t done, size_t all)>& progress) {
  std::vector<std::vector<DeviceFunction>> functions(objects.size());
  for_each_on_threads(
      objects.size(), threads, [&](size_t i) { functions[i] = functions_of(*objects[i]); },
      [](size_t) {});

  std::vector<Unique> uniques;
  std::unordered_map<CodeKey, size_t, HashCode> numbers;
  std::vector<std::vector<size_t>> number_of(objects.size());  // by object and function
  for (size_t i = 0; i < objects.size(); ++i) {
    for (const DeviceFunction& function : functions[i]) {
      const std::string_view code(reinterpret_cast<const char*>(function.code.data()),
                                  function.code.size());
      const amd::GfxTarget target = objects[i]->target();
      const auto [entry, is_new] =
          numbers.try_emplace({code, target, function.wave64}, uniques.size());
      if (is_new) uniques.push_back({&function, target, {}});
      number_of[i].push_back(entry->second);
    }
  }
  for_each_on_threads(
      uniques.size(), threads,
      [&](size_t i) { uniques[i].coverage = cover(*uniques[i].function, uniques[i].target); },
      [&](size_t done) {
        if (progress) progress(done, uniques.size());
      });

  std::vector<ObjectCoverage> result(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    ObjectCoverage& sum = result[i];
    sum.target_id = objects[i]->target_id();
    sum.kernels = objects[i]->kernels().size();
    sum.functions = functions[i].size();
    for (size_t k = 0; k < functions[i].size(); ++k) {
      const CodeCoverage& code = uniques[number_of[i][k]].coverage;
      sum.instructions += code.instructions;
      sum.missing_instructions += code.missing_instructions;
      for (const Missing& entry : code.missing)
        sum.missing.emplace_back(entry).function = functions[i][k].name;
    }
  }
  return result;
}

}  // namespace wavetap::replay
