// What a column of a trace refers to. Joining files shifts ids, processes, GPUs and times; cutting one
// follows references. Both go by this: by tables.inc for the columns it has, by the name for others, so
// that tables and columns of a later version take part.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavetap::store {

enum class Meaning : uint8_t {
  kPlain,    // means the same in every file
  kCall,     // id of rocpd_api
  kOp,       // id of rocpd_op
  kString,   // id of rocpd_string
  kText,     // id of rocpd_ustring; of rocpd_string in schema 2
  kId,       // id of any other table
  kProcess,  // pid or tid
  kGpu,      // GPU or queue; negative is the host
  kTime,     // ns; in tables wavetap_*, 0 says there is none
  kSession,  // number of a recorded process
};

// Tables named otherwise belong to somebody else: all their columns are plain.
bool is_trace_table(std::string_view table);

Meaning meaning_of(std::string_view table, std::string_view column);
// What a program that does not know the table makes of it.
Meaning meaning_by_name(std::string_view table, std::string_view column);

}  // namespace wavetap::store
