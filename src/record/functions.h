// Names of the functions that CallRecords name by number. Each family has a range; a FunctionFact
// tells the reader what a number means, so the ranges may change with every build.
#pragma once

#include <cstdint>

#include "format/record.h"

namespace wavetap::record {

// Names of a family, in order of their numbers. Registered once at start-up, never removed.
struct FunctionFamily {
  uint32_t first;
  uint32_t count;
  const char* (*name)(uint32_t index);
};
void add_function_family(const FunctionFamily* family);

// "?" for a number nobody registered.
const char* function_name(uint32_t number);

void write_function_fact(format::Api api, uint32_t number, uint32_t result_type, const char* name,
                         const char* layout);

}  // namespace wavetap::record
