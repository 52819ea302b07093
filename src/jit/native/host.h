// Host: the processor that compiled code runs on, and LLVM's code generator for it.
//
// Nothing of LLVM is set up before the first module is compiled. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llvm/IR/Module.h"

namespace wavetap::jit {

// How wide the host's vectors are.
struct HostVectors {
  unsigned lanes = 4;              // 32-bit elements of a register
  unsigned registers = 32;         // of these
  bool has_halves = false;         // arithmetic of halves
  bool overwrites_addend = false;  // a fused multiply-add has its result where the addend was
};

class Host {
 public:
  // For the processor that this one is, or for one that LLVM has a name for and this one can stand in for.
  explicit Host(const char* processor = nullptr);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Why nothing can be compiled here; empty: it can.
  const std::string& trouble() const { return trouble_; }
  const HostVectors& vectors() const { return vectors_; }
  // Processor and features: code made for one is not for another.
  const std::string& name() const { return name_; }

  // An object file of the module's functions. Empty when LLVM has failed.
  std::vector<std::byte> compile(llvm::Module& module);
  void set_target(llvm::Module& module) const;

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
  std::string trouble_;
  std::string name_;
  HostVectors vectors_;
};

// Executable memory with an object file's code in it.
class NativeCode {
 public:
  ~NativeCode();
  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;

  // Null when it is no object file for this host, or needs something from outside of it.
  static std::unique_ptr<NativeCode> load(std::span<const std::byte> object, const char* entry);

  void* entry() const { return entry_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  friend class SectionMemory;
  NativeCode() = default;

  void* memory_ = nullptr;
  size_t size_bytes_ = 0;
  void* entry_ = nullptr;
};

}  // namespace wavetap::jit
