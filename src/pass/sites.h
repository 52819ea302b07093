// The places of a kernel that are instrumented: block entries, memory accesses, barriers, messages.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <string>
#include <vector>

#include "format/site_table.h"

namespace wavetap::pass {

struct Place {
  format::Site site;
  llvm::Instruction* at = nullptr;  // the probe goes before it
  llvm::Value* value = nullptr;     // a pointer, or a message's value
  llvm::Value* message = nullptr;   // a message's kind
  bool replaces = false;            // the instruction goes
  // Of an access through a buffer descriptor: `value` is where the buffer begins, these are added to it, and lanes whose element
  // ends behind `records` bytes touch nothing.
  llvm::Value* offsets[2] = {};
  llvm::Value* records = nullptr;
};

// In the order of the code; a block's own place comes before those in it.
std::vector<Place> find_places(llvm::Function& kernel, std::vector<std::string>& unseen);

// Whether a call is wavetap_message() of wavetap/device.h, as a marker or as a function.
bool is_message(const llvm::CallBase& call);

}  // namespace wavetap::pass
