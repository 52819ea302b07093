#include "mcp/server.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

namespace wavetap::mcp {
namespace {

constexpr int kParseError = -32700, kInvalidRequest = -32600, kUnknownMethod = -32601,
              kInvalidParams = -32602;
// Versions of the protocol that this server speaks, the newest first.
constexpr const char* kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr const char* kBatchVersion = "2025-03-26";  // the only one that has them
constexpr size_t kMostWaiting = 64;
constexpr double kProgressSeconds = 2;

constexpr char kInstructions[] =
    "wavetap records, checks, captures, replays and profiles GPU kernels of ROCm programs; it needs no GPU. "
    "Paths are below the server's roots; relative ones count from the first. Every tool answers with "
    "exit_status (0: done; others as its description says), result, and what the command wrote to its "
    "standard error.";

Server::Json error_message(const Json& id, int code, const std::string& what) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", what}}}};
}

Server::Json text_result(const std::string& text, bool is_error) {
  Server::Json result = {{"content", {{{"type", "text"}, {"text", text}}}}};
  if (is_error) result["isError"] = true;
  return result;
}

bool is_id(const Json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

// Answers that go out together.
struct Server::Batch {
  Json answers = Json::array();
  std::function<void(const Json&)> send;
  ~Batch() {
    if (!answers.empty()) send(answers);
  }
};

struct Server::Call {
  Json id, token;  // token: null when nobody wants to hear of progress
  const Tool* tool = nullptr;
  std::vector<std::string> words;
  std::string folder;  // for its answer; "": none
  Answer answer;
  std::optional<Child> child;
  bool is_cancelled = false, is_late = false;
  double told_seconds = 0;

  ~Call() {
    child.reset();
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
};

Server::Server(ServerOptions options, Send send)
    : options_(std::move(options)),
      send_(std::move(send)),
      tools_(make_tools(options_.choices, options_.allow_run)) {}
Server::~Server() = default;

void Server::write(const Json& message) const { send_(util::json_line(message) + "\n"); }

void Server::refuse_long_line() {
  write(error_message(nullptr, kParseError,
                      "message longer than " + util::human_bytes(kMostMessageBytes)));
}

void Server::receive(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  const Result<Json> parsed = util::parse_json(line);
  if (!parsed.ok()) return write(error_message(nullptr, kParseError, parsed.error().message));
  const Json& message = *parsed;
  if (!message.is_array()) return receive_one(message, nullptr);
  if (message.empty() || (!version_.empty() && version_ != kBatchVersion))
    return write(
        error_message(nullptr, kInvalidRequest, "no batches in this version of the protocol"));
  auto batch = std::make_shared<Batch>();
  batch->send = [this](const Json& answers) { write(answers); };
  for (const Json& one : message) receive_one(one, batch);
}

void Server::receive_one(const Json& message, const std::shared_ptr<Batch>& batch) {
  const Answer answer = [this, batch](const Json& json) {
    if (batch) batch->answers.push_back(json);
    else write(json);
  };
  if (!message.is_object() || message.value("jsonrpc", Json()) != "2.0")
    return answer(error_message(nullptr, kInvalidRequest, "not a message of JSON-RPC 2.0"));
  if (!message.contains("method")) {
    // An answer; this server asks nothing.
    if (!message.contains("result") && !message.contains("error"))
      answer(error_message(nullptr, kInvalidRequest, "no method"));
    return;
  }
  const Json id = message.value("id", Json());
  if (!message["method"].is_string() || (message.contains("id") && !is_id(id)))
    return answer(error_message(is_id(id) ? id : Json(), kInvalidRequest, "bad method or id"));
  const std::string method = message["method"].get<std::string>();
  const Json params = message.value("params", Json::object());
  if (!params.is_object()) {
    if (message.contains("id"))
      answer(error_message(id, kInvalidParams, "params is not an object"));
    return;
  }
  if (message.contains("id")) handle(method, id, params, answer);
  else notice(method, params);
}

void Server::handle(const std::string& method, const Json& id, const Json& params,
                    const Answer& answer) {
  const auto done = [&](const Json& result) {
    answer({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
  };
  if (method == "ping") return done(Json::object());
  if (method == "initialize") {
    if (!params.contains("protocolVersion") || !params["protocolVersion"].is_string())
      return answer(error_message(id, kInvalidParams, "protocolVersion is missing"));
    return done(initialize(params));
  }
  if (version_.empty()) return answer(error_message(id, kInvalidRequest, "initialize comes first"));
  if (method == "tools/list") {
    Json list = Json::array();
    for (const Tool& tool : tools_) list.push_back(describe(tool));
    return done({{"tools", list}});
  }
  if (method == "tools/call") return call_tool(id, params, answer);
  answer(error_message(id, kUnknownMethod, "unknown method " + method.substr(0, 100)));
}

Server::Json Server::initialize(const Json& params) {
  const std::string wanted = params["protocolVersion"].get<std::string>();
  version_ = kVersions[0];
  for (const char* known : kVersions)
    if (wanted == known) version_ = known;
  return {
      {"protocolVersion", version_},
      {"capabilities", {{"tools", Json::object()}}},
      {"serverInfo", {{"name", "wavetap"}, {"title", "wavetap"}, {"version", WAVETAP_VERSION}}},
      {"instructions",
       std::string(kInstructions) + " Roots: " + util::join(options_.roots.folders(), ", ") + "." +
           (options_.allow_run ? "" : " Tools that run programs are not offered: --allow-run.")}};
}

void Server::notice(const std::string& method, const Json& params) {
  if (method != "notifications/cancelled" || !params.contains("requestId")) return;
  const Json& id = params["requestId"];
  std::erase_if(waiting_, [&](const auto& call) { return call->id == id; });
  for (const auto& call : running_) {
    if (call->id != id) continue;
    call->is_cancelled = true;
    call->child->end();
  }
}

void Server::call_tool(const Json& id, const Json& params, const Answer& answer) {
  const Json name = params.value("name", Json());
  const auto tool =
      std::find_if(tools_.begin(), tools_.end(), [&](const Tool& one) { return name == one.name; });
  if (tool == tools_.end())
    return answer(error_message(
        id, kInvalidParams,
        "unknown tool " + (name.is_string() ? name.get<std::string>() : "").substr(0, 100)));
  const auto same = [&](const auto& call) { return call->id == id; };
  if (std::any_of(running_.begin(), running_.end(), same) ||
      std::any_of(waiting_.begin(), waiting_.end(), same))
    return answer(error_message(id, kInvalidRequest, "this id is in use"));
  const auto refuse = [&](const std::string& why) {
    answer({{"jsonrpc", "2.0"}, {"id", id}, {"result", text_result(why, true)}});
  };
  if (waiting_.size() >= kMostWaiting)
    return refuse("too many calls at once; wait for their answers");
  auto call = std::make_unique<Call>();
  if (!tool->answer_option.empty()) {
    char folder[] = "/tmp/wavetap.mcp.XXXXXX";
    if (mkdtemp(folder) == nullptr) return refuse("no folder could be made in /tmp");
    call->folder = folder;
  }
  Result<std::vector<std::string>> words =
      make_words(*tool, params.value("arguments", Json::object()), options_.roots, call->folder);
  if (!words.ok()) return refuse(words.error().message);
  call->id = id;
  call->tool = &*tool;
  call->words = std::move(*words);
  call->words.insert(call->words.begin(), options_.program);
  call->answer = answer;
  const Json meta = params.value("_meta", Json::object());
  if (meta.is_object() && meta.contains("progressToken") && is_id(meta["progressToken"]))
    call->token = meta["progressToken"];
  waiting_.push_back(std::move(call));
}

void Server::start(std::unique_ptr<Call> call) {
  Result<Child> child =
      Child::start(call->words, options_.roots.folders()[0], options_.output_bytes);
  if (!child.ok())
    return call->answer({{"jsonrpc", "2.0"},
                         {"id", call->id},
                         {"result", text_result(child.error().message, true)}});
  call->child.emplace(std::move(*child));
  running_.push_back(std::move(call));
}

bool Server::attend(Call& call) {
  if (call.child->look()) {
    if (!call.is_cancelled)
      call.answer({{"jsonrpc", "2.0"}, {"id", call.id}, {"result", result_of(call)}});
    return true;
  }
  const double seconds = call.child->seconds();
  if (seconds >= options_.seconds && !call.is_cancelled) {
    call.is_late = true;
    call.child->end();
  }
  if (!call.token.is_null() && !call.is_cancelled &&
      seconds - call.told_seconds >= kProgressSeconds) {
    call.told_seconds = seconds;
    write({{"jsonrpc", "2.0"},
           {"method", "notifications/progress"},
           {"params",
            {{"progressToken", call.token},
             {"progress", seconds},
             {"message", fmt::format("{} runs for {:.0f} seconds", call.tool->name, seconds)}}}});
  }
  return false;
}

void Server::look() {
  while (!waiting_.empty() && running_.size() < std::max<size_t>(options_.jobs, 1)) {
    std::unique_ptr<Call> call = std::move(waiting_.front());
    waiting_.pop_front();
    start(std::move(call));
  }
  std::erase_if(running_, [this](const auto& call) { return attend(*call); });
}

std::vector<int> Server::fds() const {
  std::vector<int> fds;
  for (const auto& call : running_)
    for (const int fd : {call->child->output_fd(), call->child->errors_fd()})
      if (fd >= 0) fds.push_back(fd);
  return fds;
}

Server::Json Server::result_of(const Call& call) const {
  if (call.is_late)
    return text_result(
        fmt::format("{}: not done after {:g} seconds and ended; a larger --timeout gives it more",
                    call.tool->name, options_.seconds),
        true);
  std::string text = call.child->output();
  bool is_cut = call.child->is_cut();
  if (!call.folder.empty()) {
    text.clear();
    const auto bytes = util::read_file(call.folder + "/" + call.tool->answer_file);
    if (bytes.ok()) {
      is_cut = bytes->size() > options_.output_bytes;
      text.assign(reinterpret_cast<const char*>(bytes->data()),
                  std::min(bytes->size(), options_.output_bytes));
    }
  }
  if (is_cut)
    return text_result(
        fmt::format(
            "{}: the answer is larger than {}; ask for less (top, kernel, limit), or start the "
            "server with a larger --output-limit. It begins:\n{}",
            call.tool->name, util::human_bytes(options_.output_bytes), text.substr(0, 4000)),
        true);
  Json answer = {{"exit_status", call.child->status()}};
  Json result = util::read_json(text);
  if (result.is_discarded()) result = text;
  answer["result"] = std::move(result);
  if (!call.folder.empty() && !call.child->output().empty())
    answer["output"] = call.child->output();
  if (!call.child->errors().empty()) answer["messages"] = call.child->errors();
  const int status = call.child->status();
  Json made =
      text_result(util::json_line(answer), status != 0 && status != call.tool->finding_status);
  if (version_ >= "2025-06-18") made["structuredContent"] = std::move(answer);
  return made;
}

}  // namespace wavetap::mcp
