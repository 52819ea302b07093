// Server: the Model Context Protocol over lines of JSON-RPC 2.0.
//
// A call of a tool is a command of this program, run as a child with JSON as its output: what a client
// learns is what a person at a terminal would, and a command that crashes or hangs is an answer, not the
// end of the server. Messages come in by receive() and go out by `send`; look() attends to the children.
// One thread.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mcp/child.h"
#include "mcp/roots.h"
#include "mcp/tool.h"
#include "util/json_library.h"

namespace wavetap::mcp {

struct ServerOptions {
  std::string program;  // wavetap
  Roots roots;
  bool allow_run = false;
  double seconds = 300;             // of one call
  size_t output_bytes = 256 << 10;  // of one answer
  size_t jobs = 2;                  // calls at the same time; the others wait
  Choices choices = {};
};

// The longest message that is read.
inline constexpr size_t kMostMessageBytes = 4 << 20;

class Server {
 public:
  using Json = nlohmann::ordered_json;
  using Send = std::function<void(const std::string& line)>;

  Server(ServerOptions options, Send send);
  ~Server();

  // One line, whatever it holds.
  void receive(const std::string& line);
  // A line that was longer than can be read.
  void refuse_long_line();
  // Starts calls that wait, answers those that are done, tells how long the others take.
  void look();
  bool is_busy() const { return !running_.empty() || !waiting_.empty(); }
  // What to poll for: the outputs of the children.
  std::vector<int> fds() const;

 private:
  struct Batch;
  struct Call;
  using Answer = std::function<void(const Json&)>;

  void receive_one(const nlohmann::ordered_json& message, const std::shared_ptr<Batch>& batch);
  void handle(const std::string& method, const nlohmann::ordered_json& id,
              const nlohmann::ordered_json& params, const Answer& answer);
  void call_tool(const nlohmann::ordered_json& id, const nlohmann::ordered_json& params,
                 const Answer& answer);
  void notice(const std::string& method, const nlohmann::ordered_json& params);
  Json initialize(const nlohmann::ordered_json& params);
  void start(std::unique_ptr<Call> call);
  bool attend(Call& call);  // true when it is over
  Json result_of(const Call& call) const;
  void write(const Json& message) const;

  const ServerOptions options_;
  const Send send_;
  const std::vector<Tool> tools_;
  std::string version_;  // of the protocol; "" before initialize
  std::deque<std::unique_ptr<Call>> waiting_;
  std::list<std::unique_ptr<Call>> running_;
};

// Reads standard input until it ends and answers on standard output; calls under way are finished first.
// A signal to end (SIGTERM, SIGINT, SIGHUP) ends them instead.
int serve(ServerOptions options);

}  // namespace wavetap::mcp
