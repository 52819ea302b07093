// What the environment asks for. Read once, when the agent starts.
#pragma once

#include <cstdint>

#include "record/session.h"

namespace wavetap::record {

struct Environment {
  bool has_session = false;  // WAVETAP_SESSION names a folder: started by `wavetap run`
  bool paused = false;       // do not record until told to
  bool emulated = false;     // the GPUs are virtual
  bool late = false;         // this library came after the program had begun
  uint32_t options = 0;      // format::kOption*
  char folder[Session::kMaxPath] = {};
  char output[Session::kMaxPath] = {};  // loaded by hand: the trace the user wants; "" when not
};

void read_environment(Environment& environment);

// Set when this library has put itself into HSA_TOOLS_LIB, for a program that had opened it.
inline constexpr char kNamedByLibrary[] = "WAVETAP_NAMED_AS_TOOL";
// The user has named this library in HSA_TOOLS_LIB: record from the beginning.
bool is_users_tool();

// The folder to record into, made when the library was loaded by hand. Null: nowhere.
const char* session_folder(Environment& environment, uint32_t pid);

// Nothing could be written: the folder goes again if it was made here.
void drop_session_folder(const Environment& environment);

// Loaded by hand: tells the user, once, where the recording is and what to do with it. Says nothing
// when somebody has made the trace already and removed the folder.
void say_where(const Environment& environment);

// An earlier library of this process is another copy of this one.
bool has_elder_copy();

}  // namespace wavetap::record
