// `--hsa`: every function of the core and AMD tables recorded as a call, around whatever hook sits
// in its entry.
//
// A HIP call stays the owner of what happens inside it: the HSA calls that it makes are recorded
// below it but own nothing. Without an outer call the HSA function is the owner.
#include <cstddef>
#include <utility>

#include "agent/function_numbers.h"
#include "agent/hsa_hooks.h"
#include "agent/hsa_table.h"
#include "agent/recording.h"
#include "record/functions.h"
#include "record/layout.h"

namespace wavetap::agent {
namespace {

struct Described {
  const char* name;
  const char* layout;
  uint32_t result_type;  // format::FunctionFact
};

template <class Result>
constexpr uint32_t result_type() {
  if constexpr (std::is_void_v<Result>) {
    return 2;
  } else {
    return sizeof(Result) == 8 ? 1 : 0;
  }
}

constexpr Described kFunctions[] = {
#define WT_HSA_CORE(name, result, parameters, layout) {#name, layout, result_type<result>()},
#define WT_HSA_AMD(entries, name, result, parameters, layout) \
  {#name, layout, result_type<result>()},
#include "agent/hsa_api.inc"
#undef WT_HSA_CORE
#undef WT_HSA_AMD
};
static_assert(sizeof kFunctions / sizeof kFunctions[0] == kHsaFunctions);

// What the entries held when install_call_hooks() came: our other hooks, or the runtime's
// functions.
constinit void* g_inner[kHsaFunctions] = {};

// First letters of the code of the nth argument in a layout.
constexpr char code_of(const char* layout, size_t n) {
  for (; n > 0; --n) {
    while (*layout != ',') ++layout;
    ++layout;
  }
  while (*layout != ':') ++layout;
  return layout[1];
}

template <char kCode, class T>
auto argument(T value, bool succeeded) {
  if constexpr (kCode == 'o') {
    return record::Out<uint64_t>{value, succeeded};
  } else if constexpr (kCode == 's') {
    return record::CString(value, succeeded);
  } else {
    return record::Word{value};
  }
}

template <size_t kIndex, class Function>
struct CallHook;

template <size_t kIndex, class Result, class... Args>
struct CallHook<kIndex, Result (*)(Args...)> {
  static Result call(Args... args) {
    const auto inner = reinterpret_cast<Result (*)(Args...)>(g_inner[kIndex]);
    constexpr uint32_t kWanted = kRecording | kHsaCalls;
    OpenCall open;
    if ((g_state.load(std::memory_order_relaxed) & kWanted) != kWanted ||
        !enter_call(open, kFirstHsaFunction + kIndex)) {
      return inner(args...);
    }
    if (open.outer_call != 0) {
      open.stream->current_call_ = open.outer_call;
      open.stream->dispatches_ = open.outer_dispatches;
    }
    if constexpr (std::is_void_v<Result>) {
      inner(args...);
      leave(open, 0, true, std::index_sequence_for<Args...>{}, args...);
    } else {
      const Result result = inner(args...);
      // What is not a status cannot fail.
      const bool succeeded =
          !std::is_same_v<Result, HsaStatus> || static_cast<uint64_t>(result) == kHsaSuccess;
      leave(open, static_cast<int32_t>(result), succeeded, std::index_sequence_for<Args...>{},
            args...);
      return result;
    }
  }

  template <size_t... kN>
  static void leave(OpenCall& open, int32_t result, [[maybe_unused]] bool succeeded,
                    std::index_sequence<kN...>, Args... args) {
    if (open.outer_call != 0) open.outer_dispatches = open.stream->dispatches_;
    leave_call(open, kFirstHsaFunction + kIndex, result,
               argument<code_of(kFunctions[kIndex].layout, kN)>(args, succeeded)...);
  }
};

const char* name_of(uint32_t index) { return kFunctions[index].name; }

constinit record::FunctionFamily g_family{kFirstHsaFunction, kHsaFunctions, &name_of};

void write_functions() {
  for (uint32_t i = 0; i < kHsaFunctions; ++i) {
    const Described& function = kFunctions[i];
    record::write_function_fact(format::Api::kHsa, kFirstHsaFunction + i, function.result_type,
                                function.name, function.layout);
  }
}

template <size_t kIndex, class Function>
void install(Function Hsa::*) {
  void** entry = g_hsa_table.entry(kIndex);
  if (entry == nullptr) return;
  g_inner[kIndex] = *entry;
  *entry = reinterpret_cast<void*>(&CallHook<kIndex, Function>::call);
}

constinit bool g_told = false;

}  // namespace

void install_call_hooks() {
  if ((record::session_options() & format::kOptionHsa) == 0) return;
  if (!g_told) {
    g_told = true;
    record::add_function_family(&g_family);
    write_functions();
    add_fact_source(&write_functions);
  }
  enum : size_t {
#define WT_HSA_CORE(name, result, parameters, layout) k_##name,
#define WT_HSA_AMD(entries, name, result, parameters, layout) k_##name,
#include "agent/hsa_api.inc"
#undef WT_HSA_CORE
#undef WT_HSA_AMD
  };
#define WT_HSA_CORE(name, result, parameters, layout) install<k_##name>(&Hsa::name);
#define WT_HSA_AMD(entries, name, result, parameters, layout) install<k_##name>(&Hsa::name);
#include "agent/hsa_api.inc"
#undef WT_HSA_CORE
#undef WT_HSA_AMD
}

}  // namespace wavetap::agent
