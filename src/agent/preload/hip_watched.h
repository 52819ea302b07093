// Functions of HIP that tell us something besides being called: kernels by name, functions by name,
// figures of devices, memory. Only for hip.cc.
#pragma once

#include <string.h>

#include <cstdint>
#include <type_traits>

#include "agent/allocations.h"
#include "agent/device_figures.h"
#include "agent/host_functions.h"
#include "agent/preload/hip_copies.h"
#include "agent/preload/hip_table.h"
#include "agent/virtual_gpu.h"

namespace wavetap::agent {

// After<index>::run(result, arguments...) is called after the function, whether or not it is
// recorded.
template <uint32_t kIndex>
struct After {
  static constexpr bool kExists = false;
};

template <>
struct After<kIndexOf_hipModuleGetFunction> {
  static constexpr bool kExists = true;
  static void run(int32_t result, void* function, void*, const char* name) {
    if (result == 0 && function != nullptr)
      note_host_function(*static_cast<void**>(function), name);
  }
};

template <>
struct After<kIndexOf_hipLibraryGetKernel> {
  static constexpr bool kExists = true;
  static void run(int32_t result, void* kernel, void*, const char* name) {
    if (result == 0 && kernel != nullptr) note_host_function(*static_cast<void**>(kernel), name);
  }
};

template <>
struct After<kIndexOf___hipRegisterFunction> {
  static constexpr bool kExists = true;
  static void run(void*, void* host_function, void*, const char* name, uint32_t, void*, void*,
                  void*, void*, void*) {
    note_host_function(host_function, name);
  }
};

// Whoever asks for a function by name gets ours as well.
struct SwapPointer {
  static void swap(int32_t result, const char* symbol, void* out) {
    if (result != 0 || symbol == nullptr || out == nullptr) return;
    void*& function = *static_cast<void**>(out);
    // The same name may mean a function of another release or stream mode, depending on the version
    // asked for.
    static constexpr const char* kSuffixes[] = {"", "_spt", "R0600", "R0000"};
    for (const char* const suffix : kSuffixes) {
      char name[256];
      const size_t length = strlen(symbol);
      if (length + 8 > sizeof name) return;
      memcpy(name, symbol, length);
      strcpy(name + length, suffix);
      void* const ours = hip_wrapper_for(name, function);
      if (ours == function) continue;
      function = ours;
      return;
    }
  }
};

template <>
struct After<kIndexOf_hipGetProcAddress> : SwapPointer {
  static constexpr bool kExists = true;
  static void run(int32_t result, const char* symbol, void* out, int32_t, uint64_t, void*) {
    swap(result, symbol, out);
  }
};

template <>
struct After<kIndexOf_hipGetDriverEntryPoint> : SwapPointer {
  static constexpr bool kExists = true;
  static void run(int32_t result, const char* symbol, void* out, uint64_t, void*) {
    swap(result, symbol, out);
  }
};

template <>
struct After<kIndexOf_hipGetDriverEntryPoint_spt> : SwapPointer {
  static constexpr bool kExists = true;
  static void run(int32_t result, const char* symbol, void* out, uint64_t, void*) {
    swap(result, symbol, out);
  }
};

// The unversioned symbol keeps the layout from before HIP 6 in every release.
template <const amd::HipPropertiesLayout& kLayout>
struct NoteFigures {
  static constexpr bool kExists = true;
  static void run(int32_t result, void* properties, int32_t device) {
    if (result == 0) note_hip_figures(kLayout, properties, device);
  }
};
template <>
struct After<kIndexOf_hipGetDeviceProperties> : NoteFigures<amd::kHipPropertiesR0000> {};
template <>
struct After<kIndexOf_hipGetDevicePropertiesR0000> : NoteFigures<amd::kHipPropertiesR0000> {};
template <>
struct After<kIndexOf_hipGetDevicePropertiesR0600> : NoteFigures<amd::kHipPropertiesR0600> {};

// ---- calls that the virtual GPU is told of -------------------------------------------------------

// Tells<index>::call(real, arguments...) takes the place of a recorded call.
template <uint32_t kIndex>
struct Tells {
  static constexpr bool kExists = false;
};

// Copies that the host may make itself. Of functions that return when the copy is done; others may only have put it into a
// graph.
struct CopiesBytes {
  static constexpr bool kExists = true;

  template <class Real, class... Rest>
  static int32_t call(Real real, void* to, void* from, size_t bytes, Rest... rest) {
    const uint64_t number = host_copy_began();
    const int32_t result = real(to, from, bytes, rest...);
    host_copied(number, to, from, result == 0 ? bytes : 0);
    return result;
  }
};
template <>
struct Tells<kIndexOf_hipMemcpy> : CopiesBytes {};
template <>
struct Tells<kIndexOf_hipMemcpy_spt> : CopiesBytes {};
template <>
struct Tells<kIndexOf_hipMemcpyWithStream> : CopiesBytes {};
template <>
struct Tells<kIndexOf_hipMemcpyHtoD> : CopiesBytes {};
template <>
struct Tells<kIndexOf_hipMemcpyDtoH> : CopiesBytes {};

// Pools of the runtime's. A stream that is being captured only notes for a graph what it will do; then nothing is told.
bool is_being_captured(void* stream);

struct TakesFromPool {
  static constexpr bool kExists = true;

  template <class Real>
  static int32_t call(Real real, void* out, size_t size, void* stream) {
    return note(real(out, size, stream), out, size, stream);
  }
  template <class Real>
  static int32_t call(Real real, void* out, size_t size, void* pool, void* stream) {
    return note(real(out, size, pool, stream), out, size, stream);
  }

 private:
  static int32_t note(int32_t result, void* out, size_t size, void* stream) {
    if (is_told_of_pools() && result == 0 && out != nullptr && size != 0 &&
        !is_being_captured(stream))
      pool_block_began(*static_cast<void**>(out), size);
    return result;
  }
};
template <>
struct Tells<kIndexOf_hipMallocAsync> : TakesFromPool {};
template <>
struct Tells<kIndexOf_hipMallocFromPoolAsync> : TakesFromPool {};

// Before the call: another thread may be given the same memory as soon as it is back.
template <>
struct Tells<kIndexOf_hipFreeAsync> {
  static constexpr bool kExists = true;

  template <class Real>
  static int32_t call(Real real, void* pointer, void* stream) {
    if (is_told_of_pools() && !is_being_captured(stream)) pool_block_ended(pointer);
    return real(pointer, stream);
  }
};
template <>
struct Tells<kIndexOf_hipFree> {
  static constexpr bool kExists = true;

  template <class Real>
  static int32_t call(Real real, void* pointer) {
    pool_block_ended(pointer);
    return real(pointer);
  }
};

// ---- memory that the program asks for ----------------------------------------------------------

// Memory<index>::call(real, arguments...) takes the place of the call when somebody wants to know of
// allocations (allocations.h).
template <uint32_t kIndex>
struct Memory {
  static constexpr bool kExists = false;
};

template <format::MemoryKind kKind, bool kPooled = false>
struct Allocates {
  static constexpr bool kExists = true;

  template <class Real, class... Rest>
  static int32_t call(Real real, void* out, size_t size, Rest... rest) {
    const int32_t result = real(out, size, rest...);
    if (result == 0 && out != nullptr) note(*static_cast<void**>(out), size, rest...);
    return result;
  }

 private:
  static void note(const void* address, size_t size) {
    note_hip_allocation(address, size, kKind, 0, kPooled);
  }
  template <class First, class... Rest>
  static void note(const void* address, size_t size, First first, Rest...) {
    uint32_t flags = 0;
    if constexpr (std::is_same_v<First, uint32_t>) flags = first;
    note_hip_allocation(address, size, kKind, flags, kPooled);
  }
};

struct AllocatesRows {
  static constexpr bool kExists = true;

  template <class Real, class... Rest>
  static int32_t call(Real real, void* out, void* pitch, size_t width, size_t height,
                      Rest... rest) {
    const int32_t result = real(out, pitch, width, height, rest...);
    if (result == 0 && out != nullptr && pitch != nullptr)
      note_hip_allocation(*static_cast<void**>(out), *static_cast<size_t*>(pitch) * height,
                          format::MemoryKind::kDevice, 0);
    return result;
  }
};

struct Frees {
  static constexpr bool kExists = true;

  template <class Real, class... Rest>
  static int32_t call(Real real, void* pointer, Rest... rest) {
    LiveAllocation known;
    const bool noted = forget_allocation(MemoryLayer::kHip, pointer, &known);
    const int32_t result = real(pointer, rest...);
    if (result != 0 && noted) note_allocation(known);
    return result;
  }
};

using format::MemoryKind;
template <>
struct Memory<kIndexOf_hipMalloc> : Allocates<MemoryKind::kDevice> {};
template <>
struct Memory<kIndexOf_hipExtMallocWithFlags> : Allocates<MemoryKind::kDevice> {};
template <>
struct Memory<kIndexOf_hipMallocAsync> : Allocates<MemoryKind::kDevice, true> {};
template <>
struct Memory<kIndexOf_hipMallocFromPoolAsync> : Allocates<MemoryKind::kDevice, true> {};
template <>
struct Memory<kIndexOf_hipMallocManaged> : Allocates<MemoryKind::kManaged> {};
template <>
struct Memory<kIndexOf_hipMallocHost> : Allocates<MemoryKind::kHost> {};
template <>
struct Memory<kIndexOf_hipHostMalloc> : Allocates<MemoryKind::kHost> {};
template <>
struct Memory<kIndexOf_hipHostAlloc> : Allocates<MemoryKind::kHost> {};
template <>
struct Memory<kIndexOf_hipMemAllocHost> : Allocates<MemoryKind::kHost> {};
template <>
struct Memory<kIndexOf_hipMallocPitch> : AllocatesRows {};
template <>
struct Memory<kIndexOf_hipMemAllocPitch> : AllocatesRows {};
template <>
struct Memory<kIndexOf_hipFree> : Frees {};
template <>
struct Memory<kIndexOf_hipFreeAsync> : Frees {};
template <>
struct Memory<kIndexOf_hipHostFree> : Frees {};
template <>
struct Memory<kIndexOf_hipFreeHost> : Frees {};

}  // namespace wavetap::agent
