// A recorded process that may still be running, and its control socket.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/reader.h"

namespace wavetap::cli {

// The process of this number and start time has not ended. A zombie has.
bool is_running(format::ProcessId id);

// Processes of this user, this one excepted, whose environment has NAME=VALUE: whoever `wavetap run`
// set it for, and what they started, whether or not they have used the GPU yet.
struct Inheritor {
  uint32_t pid = 0;
  std::string name;  // as /proc/PID/comm has it
};
std::vector<Inheritor> processes_with(const std::string& name, const std::string& value);

// What a process answered: its lines as (key, rest), without the closing "ok".
using Answer = std::vector<std::pair<std::string, std::string>>;

// Sends a request (start, stop, flush, status) to the recorder in a process. The error says whether
// there is no such process, no recorder in it, or what the recorder objected to.
Result<Answer> ask(uint32_t pid, const std::string& request);

// The first value of a key, or "".
std::string value_of(const Answer& answer, const std::string& key);

// PID or folder -> session folder. For a PID the recorder in it is asked.
Result<std::string> find_session(const std::string& target);

// Why no recorder of this user can be reached: the folder its sockets would be in cannot be used. ""
// when it can.
std::string socket_folder_problem();

// Removes the socket of a process that died before it could.
void remove_stale_socket(uint32_t pid);

// A whole positive number, as processes have.
Result<uint32_t> parse_pid(const std::string& text);

}  // namespace wavetap::cli
