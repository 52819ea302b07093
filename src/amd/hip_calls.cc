#include "amd/hip_calls.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace wavetap::amd {
namespace {

constexpr HipCall kUnsorted[] = {
#define WT_HIP_CALL(name, does, flags, arguments) {#name, HipDoes::does, (flags), arguments},
#include "amd/hip_calls.inc"
#undef WT_HIP_CALL
};

// By name.
constexpr auto kCalls = [] {
  std::array<HipCall, std::size(kUnsorted)> calls{};
  std::copy(std::begin(kUnsorted), std::end(kUnsorted), calls.begin());
  std::sort(calls.begin(), calls.end(),
            [](const HipCall& a, const HipCall& b) { return a.name < b.name; });
  return calls;
}();

static_assert(std::adjacent_find(kCalls.begin(), kCalls.end(),
                                 [](const HipCall& a, const HipCall& b) {
                                   return a.name == b.name;
                                 }) == kCalls.end(),
              "a function has two rows in hip_calls.inc");

constexpr std::string_view role_name(HipRole role) {
  switch (role) {
    case HipRole::kStream: return "stream";
    case HipRole::kDst: return "dst";
    case HipRole::kSrc: return "src";
    case HipRole::kBytes: return "bytes";
    case HipRole::kWidth: return "width";
    case HipRole::kHeight: return "height";
    case HipRole::kDepth: return "depth";
    case HipRole::kKind: return "kind";
    case HipRole::kDstDevice: return "dst_device";
    case HipRole::kSrcDevice: return "src_device";
    case HipRole::kFunction: return "function";
    case HipRole::kGrid: return "grid";
    case HipRole::kItems: return "items";
    case HipRole::kBlock: return "block";
    case HipRole::kLds: return "lds";
    case HipRole::kPointer: return "pointer";
    case HipRole::kGraph: return "graph";
    case HipRole::kDevice: return "device";
  }
  return "";
}

}  // namespace

const HipCall* find_hip_call(std::string_view function) {
  constexpr std::string_view kCuda = "cuda";
  char twin[96] = "hip";
  if (function.starts_with(kCuda) && function.size() < sizeof twin) {
    function.remove_prefix(kCuda.size());
    std::memcpy(twin + 3, function.data(), function.size());
    function = {twin, function.size() + 3};
  }
  const auto found =
      std::lower_bound(kCalls.begin(), kCalls.end(), function,
                       [](const HipCall& call, std::string_view name) { return call.name < name; });
  return found != kCalls.end() && found->name == function ? &*found : nullptr;
}

std::string_view argument_of(const HipCall& call, HipRole role) {
  const std::string_view wanted = role_name(role);
  std::string_view rest = call.arguments;
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (!item.starts_with(wanted)) continue;
    const std::string_view place = item.substr(wanted.size());
    if (place.empty()) return item;
    if (place[0] == ':') return place.substr(1);
    if (place[0] == '=') return place;
  }
  return {};
}

}  // namespace wavetap::amd
