#include "jit/testing_objects.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "jit/native/block_emitter.h"
#include "jit/native/compile.h"
#include "jit/object_cache.h"
#include "jit/testing.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace wavetap::jit {
namespace {

// One in so many of those that are remembered is compiled again.
constexpr uint64_t kDoubted = 64;

// What an object depends on besides its module: Host decides on options and passes.
std::string maker(const Host& host) {
  static const std::string* sources = [] {
    auto* all = new std::string;
    for (const char* name : {"/src/jit/native/host.h", "/src/jit/native/host.cc"}) {
      std::ifstream file(std::string(WT_SOURCE_DIR) + name, std::ios::binary);
      all->append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }();
  return LLVM_VERSION_STRING "\n" + host.name() + "\n" + *sources;
}

BlockKey key_of(const Host& host, const llvm::Module& module) {
  std::string text = maker(host);
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr, /*ShouldPreserveUseListOrder=*/true);
  out.flush();
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits({bytes, text.size()});
  return {{hash.low64, hash.high64}};
}

std::vector<std::byte> compile_or_remember_in(ObjectCache& cache, Host& host,
                                              const BlockRequest& request, const Plan& plan) {
  if (!host.trouble().empty()) return {};
  llvm::LLVMContext context;
  llvm::Module module("block", context);
  host.set_target(module);
  BlockEmitter(module, request, plan, host.vectors()).emit();
  const BlockKey key = key_of(host, module);
  std::vector<std::byte> known = cache.find(key);
  if (!known.empty() && key.part[0] % kDoubted != 0) return known;
  std::vector<std::byte> object = host.compile(module);
  EXPECT_TRUE(known.empty() || known == object) << "the same module was compiled to something else";
  cache.keep(key, object);
  return object;
}

constexpr emu::TestMachine::Options kOptions{.target = {10, 3, 0}, .wave64 = false};

struct Parts {
  explicit Parts(const std::string& text)
      : code(machine.load(text)),
        request(*code, 0, /*is_verified=*/false),
        plan(plan_block(request.get())) {}
  emu::TestMachine machine{kOptions};
  const emu::LoweredCode* code;
  Request request;
  Plan plan;
};

class RememberedObjects : public testing::Test {
 protected:
  RememberedObjects() { std::filesystem::remove_all(folder_); }
  ~RememberedObjects() override { std::filesystem::remove_all(folder_); }
  size_t files() const {
    const std::filesystem::directory_iterator all(folder_);
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  const std::string folder_ = testing::TempDir() + "wavetap-jit-" + std::to_string(getpid());
  ObjectCache cache_{folder_};
};

TEST_F(RememberedObjects, AreWhatIsCompiled) {
  const Parts parts("v_add_f32 v1, v2, v3\nv_mul_f32 v4, v1, v3\ns_endpgm");
  const std::vector<std::byte> made = compile_plan(test_host(), parts.request.get(), parts.plan);
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(compile_or_remember_in(cache_, test_host(), parts.request.get(), parts.plan), made);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(compile_or_remember_in(cache_, test_host(), parts.request.get(), parts.plan), made);
  EXPECT_EQ(files(), 1u);
}

TEST_F(RememberedObjects, OfOtherCodeAreOthers) {
  const Parts sum("v_add_f32 v1, v2, v3\nv_mul_f32 v4, v1, v3\ns_endpgm");
  const Parts difference("v_sub_f32 v1, v2, v3\nv_mul_f32 v4, v1, v3\ns_endpgm");
  const auto first = compile_or_remember_in(cache_, test_host(), sum.request.get(), sum.plan);
  const auto second =
      compile_or_remember_in(cache_, test_host(), difference.request.get(), difference.plan);
  EXPECT_NE(first, second);
  EXPECT_EQ(files(), 2u);
}

}  // namespace

std::vector<std::byte> compile_or_remember(Host& host, const BlockRequest& request,
                                           const Plan& plan) {
  static ObjectCache* cache = new ObjectCache(WT_BUILD_DIR "/jit_objects", uint64_t{1} << 30);
  return compile_or_remember_in(*cache, host, request, plan);
}

}  // namespace wavetap::jit
