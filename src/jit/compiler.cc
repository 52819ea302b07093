#include "jit/compiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "emu/lower.h"
#include "jit/backend.h"
#include "jit/block_key.h"
#include "jit/liveness.h"
#include "jit/object_cache.h"
#include "jit/request.h"
#include "jit/verify.h"

namespace wavetap::jit {
namespace {

// Blocks that wait to be compiled; beyond that, a hot place is left to the interpreter.
constexpr size_t kLongestQueue = 4096;
// LLVM's code generator is recursive.
constexpr size_t kStackBytes = size_t{8} << 20;

struct Wanted {
  std::shared_ptr<const emu::LoweredCode> code;
  int32_t index;
  emu::Heat heat;
};

// The one to go on with: what is quickly done first, then what belongs to the code that was named last. That is
// what runs now; what was named before may be over.
std::deque<Wanted>::iterator next_of(std::deque<Wanted>& queue) {
  const auto warm = std::find_if(queue.begin(), queue.end(),
                                 [](const Wanted& w) { return w.heat == emu::Heat::kWarm; });
  if (warm != queue.end()) return warm;
  return std::find_if(queue.begin(), queue.end(),
                      [&](const Wanted& w) { return w.code == queue.back().code; });
}

}  // namespace

class Compiler::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)), cache_(options_.cache) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (has_thread_) pthread_join(thread_, nullptr);
  }

  void add(Wanted wanted) {
    {
      const std::lock_guard lock(mutex_);
      ++figures_.asked;
      if (queue_.size() >= kLongestQueue || figures_.is_broken) return;
      if (!has_thread_ && !start()) return;
      queue_.push_back(std::move(wanted));
    }
    changed_.notify_all();
  }

  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
  }

  Figures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  bool start() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    const auto body = [](void* self) -> void* {
      static_cast<Impl*>(self)->run();
      return nullptr;
    };
    // The program's signals stay with the program's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (const int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&all, synchronous);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_thread_ = pthread_create(&thread_, &attributes, body, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    figures_.is_broken = !has_thread_;
    return has_thread_;
  }

  void run() {
    pthread_setname_np(pthread_self(), "wavetap-jit");
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) break;
      const auto next = next_of(queue_);
      const Wanted wanted = std::move(*next);
      queue_.erase(next);
      is_busy_ = true;
      lock.unlock();
      const Made made = make_block(wanted);
      lock.lock();
      is_busy_ = false;
      if (made.size_bytes != 0) ++(made.is_cached ? figures_.loaded : figures_.compiled);
      figures_.native_bytes += made.size_bytes;
      if (figures_.is_broken) queue_.clear();
      changed_.notify_all();
    }
  }

  struct Made {
    size_t size_bytes = 0;  // of code that now runs at the place; 0: none does
    bool is_cached = false;
  };
  Made make_block(const Wanted& wanted) {
    const bool compiles = wanted.heat == emu::Heat::kHot || options_.verifies;
    if (!compiles && options_.cache.empty()) return {};
    if (compiles && wanted.code->is_published(wanted.index)) return {};
    if (backend_ == nullptr && !open_library()) return give_up();
    // Verified blocks are compared register by register.
    const Liveness* liveness = options_.verifies ? nullptr : &liveness_of(wanted.code);
    const Request request(*wanted.code, wanted.index, options_.verifies, liveness);
    CompiledBlock block;
    const BlockKey key = key_of(request.get(), maker_);
    if (const std::vector<std::byte> kept = cache_.find(key);
        !kept.empty() && backend_->load(kept, &block))
      return {publish(wanted, block), true};
    if (!compiles) return {};
    std::vector<std::byte> object;
    switch (backend_->compile(request.get(), &object)) {
      case Backend::Answer::kCompiled: break;
      case Backend::Answer::kNotWorthwhile: return {};
      case Backend::Answer::kFailed: return give_up();
    }
    if (!backend_->load(object, &block)) return {};
    cache_.keep(key, object);
    return {publish(wanted, block), false};
  }

  // Hot places of a program come one after the other.
  const Liveness& liveness_of(const std::shared_ptr<const emu::LoweredCode>& code) {
    if (liveness_ == nullptr || seen_.lock() != code) {
      liveness_ = std::make_unique<Liveness>(code->program());
      seen_ = code;
      code->say_rows_read_at_start(liveness_->rows_read_at_start());
    }
    return *liveness_;
  }

  size_t publish(const Wanted& wanted, const CompiledBlock& block) {
    auto entry = reinterpret_cast<emu::Handler>(block.entry);
    std::shared_ptr<const void> owner(block.owner, backend_->release);
    if (options_.verifies) {
      const isa::Inst& inst = wanted.code->program().insts()[wanted.index];
      entry = verified(inst, entry);
      const void* native = owner.get();
      owner = std::shared_ptr<const void>(native,
                                          [owner, &inst](const void*) { forget_verified(inst); });
    }
    wanted.code->publish(wanted.index, entry, std::move(owner));
    return block.size_bytes;
  }

  bool open_library() {
    void* library = dlopen(options_.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    using Get = const Backend* (*)();
    const auto get = reinterpret_cast<Get>(dlsym(library, kBackendSymbol));
    const Backend* found = get == nullptr ? nullptr : get();
    if (found == nullptr || found->version != backend_version()) return false;
    backend_ = found;
    // Whoever has another library has other code, even where the versions are the same.
    struct stat info {};
    stat(options_.library.c_str(), &info);
    maker_ = std::to_string(found->version) + "," + std::to_string(info.st_size) + "," +
             std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) +
             "," + found->host_name();
    return true;
  }

  Made give_up() {
    const std::lock_guard lock(mutex_);
    figures_.is_broken = true;
    return {};
  }

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Wanted> queue_;
  bool stopping_ = false;
  bool is_busy_ = false;
  bool has_thread_ = false;
  pthread_t thread_{};
  Figures figures_;
  // Of the thread.
  const Backend* backend_ = nullptr;
  std::string maker_;  // part of every key
  ObjectCache cache_;
  std::unique_ptr<const Liveness> liveness_;  // of `seen_`
  std::weak_ptr<const emu::LoweredCode> seen_;
};

Compiler::Compiler(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Compiler::~Compiler() = default;

void Compiler::compile(std::shared_ptr<const emu::LoweredCode> code, int32_t index,
                       emu::Heat heat) noexcept {
  impl_->add({std::move(code), index, heat});
}
void Compiler::drain() { impl_->drain(); }
Figures Compiler::figures() const { return impl_->figures(); }

}  // namespace wavetap::jit
