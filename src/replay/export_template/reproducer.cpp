// Runs one captured kernel launch again, with HIP and nothing else, and says whether it writes what it
// wrote then. README.md says how to build it and what it cannot do.
//
//   ./reproducer [ITERATIONS]
//
// Exit status: 0 all as captured, 1 something differs, 2 it could not be run.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "launch.h"

#ifndef DATA_FOLDER
#define DATA_FOLDER "."
#endif

namespace {

using Bytes = std::vector<char>;

void stop(const std::string& why) {
  std::fprintf(stderr, "reproducer: %s\n", why.c_str());
  std::exit(2);
}

void check(hipError_t error, const char* what) {
  if (error != hipSuccess) stop(std::string(what) + ": " + hipGetErrorString(error));
}

Bytes read_file(const char* name) {
  const std::string path = std::string(DATA_FOLDER) + "/" + name;
  std::ifstream file(path, std::ios::binary);
  if (!file) stop(path + ": cannot be read");
  return Bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// Where each place is now; 0: nowhere.
std::vector<uint64_t> now(std::size(kPlaces));
bool moved = false;  // some place is not where it was

// Memory at the address it had, where HIP can do that; null otherwise.
void* allocate_at(uint64_t address, uint64_t bytes) {
#if HIP_VERSION_MAJOR >= 6
  if (std::getenv("REPRODUCER_RELOCATE") != nullptr) return nullptr;
  hipMemAllocationProp property{};
  property.type = hipMemAllocationTypePinned;
  property.location.type = hipMemLocationTypeDevice;
  property.location.id = 0;
  size_t piece = 0;
  if (hipMemGetAllocationGranularity(&piece, &property, hipMemAllocationGranularityMinimum) !=
          hipSuccess ||
      piece == 0)
    return nullptr;
  const uint64_t begin = address / piece * piece;
  const uint64_t size = (address + bytes - begin + piece - 1) / piece * piece;
  void* reserved = nullptr;
  if (hipMemAddressReserve(&reserved, size, 0, reinterpret_cast<void*>(begin), 0) != hipSuccess)
    return nullptr;
  hipMemGenericAllocationHandle_t handle;
  if (reinterpret_cast<uint64_t>(reserved) == begin &&
      hipMemCreate(&handle, size, &property, 0) == hipSuccess) {
    hipMemAccessDesc access{};
    access.location = property.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    if (hipMemMap(reserved, size, 0, handle, 0) == hipSuccess &&
        hipMemSetAccess(reserved, size, &access, 1) == hipSuccess)
      return reinterpret_cast<void*>(address);
  }
  (void)hipMemAddressFree(reserved, size);
#else
  (void)address, (void)bytes;
#endif
  return nullptr;
}

void place_all(hipModule_t module) {
  for (size_t i = 0; i < std::size(kPlaces); ++i) {
    const Place& place = kPlaces[i];
    void* memory = nullptr;
    size_t bytes = 0;
    if (place.kind == kVariable) {
      if (hipModuleGetGlobal(&memory, &bytes, module, place.name) != hipSuccess ||
          bytes < place.bytes)
        stop(std::string(place.name) + ": HIP does not find this variable of kernel.hsaco");
    } else if (place.kind == kBuffer) {
      memory = allocate_at(place.address, place.bytes);
      if (memory == nullptr) {
        // Aligned as it was, up to a page.
        check(hipMalloc(&memory, place.bytes + 4096), "hipMalloc");
        memory = reinterpret_cast<void*>((reinterpret_cast<uint64_t>(memory) + 4095) / 4096 * 4096);
      }
    } else {  // kCode: found through any of its variables
      for (const Anchor& anchor : kAnchors) {
        if (hipModuleGetGlobal(&memory, &bytes, module, anchor.name) != hipSuccess) continue;
        memory = static_cast<char*>(memory) - anchor.linked_address;
        break;
      }
    }
    now[i] = reinterpret_cast<uint64_t>(memory);
    if (place.kind != kCode || now[i] != 0) moved = moved || now[i] != place.address;
  }
}

// Where an address of the captured program is now; itself when it is in none of the places.
uint64_t translate(uint64_t address) {
  for (size_t i = 0; i < std::size(kPlaces); ++i) {
    if (now[i] != 0 && address - kPlaces[i].address < kPlaces[i].bytes)
      return now[i] + (address - kPlaces[i].address);
  }
  return address;
}

void translate_word(char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  word = translate(word);
  std::memcpy(at, &word, sizeof word);
}

// What is uploaded before each launch.
std::vector<Bytes> load_pieces(const std::vector<Pointer>& pointers) {
  std::vector<Bytes> pieces;
  for (const Piece& piece : kPieces) {
    pieces.push_back(read_file(piece.file));
    if (pieces.back().size() != piece.bytes) stop(std::string(piece.file) + ": has another size");
    if (!moved) continue;
    const auto first =
        std::lower_bound(pointers.begin(), pointers.end(), Pointer{piece.place, 0, piece.offset},
                         [](const Pointer& a, const Pointer& b) {
                           return a.place != b.place ? a.place < b.place : a.offset < b.offset;
                         });
    for (auto at = first; at != pointers.end() && at->place == piece.place &&
                          at->offset + 8 <= piece.offset + piece.bytes;
         ++at)
      translate_word(&pieces.back()[at->offset - piece.offset]);
  }
  return pieces;
}

void upload(const std::vector<Bytes>& pieces) {
  for (size_t i = 0; i < std::size(kPlaces); ++i) {
    if (kPlaces[i].kind == kBuffer)
      check(hipMemset(reinterpret_cast<void*>(now[i]), 0, kPlaces[i].bytes), "hipMemset");
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    check(hipMemcpy(reinterpret_cast<void*>(now[kPieces[i].place] + kPieces[i].offset),
                    pieces[i].data(), pieces[i].size(), hipMemcpyHostToDevice),
          "hipMemcpy");
  }
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
}

Bytes make_arguments(const std::vector<Pointer>& pointers) {
  Bytes arguments(kArguments, kArguments + kArgumentBytes);
  for (const Pointer& pointer : pointers)
    if (moved && pointer.place == kInArguments) translate_word(&arguments[pointer.offset]);
  return arguments;
}

float launch(hipFunction_t kernel, Bytes arguments) {
  size_t bytes = arguments.size();
  void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments.data(), HIP_LAUNCH_PARAM_BUFFER_SIZE,
                    &bytes, HIP_LAUNCH_PARAM_END};
  hipEvent_t start, end;
  check(hipEventCreate(&start), "hipEventCreate");
  check(hipEventCreate(&end), "hipEventCreate");
  if (kCooperative) {
#if HIP_VERSION_MAJOR >= 6
    std::vector<void*> parameters;
    for (const uint64_t offset : kArgumentOffsets) parameters.push_back(&arguments[offset]);
    check(hipEventRecord(start), "hipEventRecord");
    check(hipModuleLaunchCooperativeKernel(
              kernel, kGrid[0] / kWorkgroup[0], kGrid[1] / kWorkgroup[1], kGrid[2] / kWorkgroup[2],
              kWorkgroup[0], kWorkgroup[1], kWorkgroup[2], kDynamicLds, nullptr, parameters.data()),
          "the cooperative launch");
    check(hipEventRecord(end), "hipEventRecord");
#else
    stop("a cooperative launch of a loaded kernel needs HIP 6 or newer");
#endif
  } else {
    check(hipExtModuleLaunchKernel(kernel, kGrid[0], kGrid[1], kGrid[2], kWorkgroup[0],
                                   kWorkgroup[1], kWorkgroup[2], kDynamicLds, nullptr, nullptr,
                                   config, start, end, 0),
          "the launch");
  }
  check(hipDeviceSynchronize(), "the kernel");
  float milliseconds = 0;
  check(hipEventElapsedTime(&milliseconds, start, end), "hipEventElapsedTime");
  check(hipEventDestroy(start), "hipEventDestroy");
  check(hipEventDestroy(end), "hipEventDestroy");
  return milliseconds;
}

void print_element(const char* type, const char* at) {
  const auto value = [&](auto zero) {
    std::memcpy(&zero, at, sizeof zero);
    return zero;
  };
  const std::string name = type;
  if (name == "f32") std::printf(" %.9g", value(float{}));
  else if (name == "f16" || name == "bf16") std::printf(" 0x%04x", value(uint16_t{}));
  else if (name == "f64") std::printf(" %.17g", value(double{}));
  else if (name == "i8") std::printf(" %d", value(int8_t{}));
  else if (name == "u8") std::printf(" %u", value(uint8_t{}));
  else if (name == "i16") std::printf(" %d", value(int16_t{}));
  else if (name == "u16") std::printf(" %u", value(uint16_t{}));
  else if (name == "i32") std::printf(" %" PRId32, value(int32_t{}));
  else if (name == "u32") std::printf(" %" PRIu32, value(uint32_t{}));
  else if (name == "i64") std::printf(" %" PRId64, value(int64_t{}));
  else std::printf(" %" PRIu64, value(uint64_t{}));
}

// Bytes that differ, not counting pointers that only moved.
uint64_t count_differences(const Output& output, const Bytes& got, const Bytes& expected,
                           uint64_t* first) {
  uint64_t count = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    const uint64_t word_at = (output.offset + i) / 8 * 8;
    if (word_at >= output.offset && word_at + 8 <= output.offset + got.size()) {
      uint64_t was = 0, is = 0;
      std::memcpy(&was, &expected[word_at - output.offset], 8);
      std::memcpy(&is, &got[word_at - output.offset], 8);
      if (is == translate(was)) continue;
    }
    if (count++ == 0) *first = i;
  }
  return count;
}

bool compare(const Output& output) {
  const Bytes expected = read_file(output.file);
  Bytes got(output.bytes);
  if (expected.size() != got.size()) stop(std::string(output.file) + ": has another size");
  check(hipMemcpy(got.data(), reinterpret_cast<void*>(now[output.place] + output.offset),
                  got.size(), hipMemcpyDeviceToHost),
        "hipMemcpy");
  std::printf("%s, %s [%" PRIu64 "]:", output.name, output.element, output.first_index);
  for (uint64_t i = 0; i < 8 && (i + 1) * output.element_bytes <= output.bytes; ++i)
    print_element(output.element, &got[i * output.element_bytes]);
  uint64_t first = 0;
  const uint64_t differing = count_differences(output, got, expected, &first);
  if (differing == 0) {
    std::printf("\n  as captured, %" PRIu64 " bytes\n", output.bytes);
    return true;
  }
  const uint64_t index = first / output.element_bytes;
  std::printf("\n  DIFFERS in %" PRIu64 " bytes, the first in element %" PRIu64 ":", differing,
              output.first_index + index);
  if ((index + 1) * output.element_bytes <= output.bytes) {
    print_element(output.element, &got[index * output.element_bytes]);
    std::printf(" instead of");
    print_element(output.element, &expected[index * output.element_bytes]);
  }
  std::printf("\n");
  return false;
}

std::vector<Pointer> read_pointers() {
  const Bytes bytes = read_file("data/pointers.bin");
  std::vector<Pointer> pointers(bytes.size() / sizeof(Pointer));
  if (!pointers.empty())
    std::memcpy(pointers.data(), bytes.data(), pointers.size() * sizeof(Pointer));
  return pointers;
}

}  // namespace

int main(int count, char** words) {
  const long iterations = count > 1 ? std::atol(words[1]) : 1;
  if (iterations < 1) stop("write: reproducer [ITERATIONS]");
  hipModule_t module;
  hipFunction_t kernel;
  check(hipModuleLoad(&module, DATA_FOLDER "/kernel.hsaco"), "kernel.hsaco");
  check(hipModuleGetFunction(&kernel, module, kKernel), kKernel);
  place_all(module);
  if (moved && kCodePointers > 0 && now[std::size(kPlaces) - 1] == 0)
    std::fprintf(stderr, "reproducer: %u words point at code, which HIP does not locate\n",
                 kCodePointers);
  const std::vector<Pointer> pointers = read_pointers();
  const std::vector<Bytes> pieces = load_pieces(pointers);
  const Bytes arguments = make_arguments(pointers);
  std::vector<float> times;
  for (long i = 0; i < iterations; ++i) {
    upload(pieces);
    times.push_back(launch(kernel, arguments));
  }
  bool equal = true;
  for (const Output& output : kOutputs)
    if (output.bytes > 0) equal = compare(output) && equal;
  std::sort(times.begin(), times.end());
  std::fprintf(stderr, "%s: %ld times, median %.3f ms, %.3f to %.3f ms; memory %s\n", kKernelName,
               iterations, times[times.size() / 2], times.front(), times.back(),
               moved ? "elsewhere than captured" : "where it was");
  return equal ? 0 : 1;
}
