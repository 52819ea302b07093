// Asking a language model.
//
// The prompt is two messages: how to answer, and the request (loop.cc) with the sources as they are
// instead of in JSON strings, which models read better. The model's answer is text out of which the
// candidate is taken (answer_text.cc); what cannot be taken is an attempt that failed, with a reason that
// the next prompt carries.
//
// The key is in this object and in the header that is sent. Services repeat keys in their error
// messages, so whatever comes back is cleaned of it before anybody sees it.
//
// A limit of tokens or money is checked before asking, with what the question is likely to take, and
// counted with what the service says it took.
#include "optimize/http_provider.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "optimize/answer_text.h"
#include "optimize/http_client.h"
#include "util/json.h"
#include "util/random.h"
#include "util/text.h"

namespace wavetap::optimize {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostKeyBytes = 4096;
constexpr size_t kReasonBytes = 300;  // of an error message of the service
constexpr double kFirstWait = 0.5, kLongestWait = 30;
constexpr uint64_t kBytesPerToken = 4;

constexpr char kInstructions[] =
    "You make one GPU kernel faster. You get a JSON document with its profile, what limits it, the figure "
    "to lower, what must hold and what was tried before, and its sources.\n"
    "Answer with one JSON object and nothing else:\n"
    "{\"schema\": \"wavetap.optimize.answer/1\", \"kind\": \"file\", \"rationale\": \"one sentence: why this "
    "is faster\", \"files\": {\"NAME\": \"the whole new text of that file\"}}\n"
    "Change only files that you were given. When nothing is left to improve, answer "
    "{\"schema\": \"wavetap.optimize.answer/1\", \"kind\": \"declined\", \"rationale\": \"why\"}.\n"
    "Your version replaces the original only if it computes the same on inputs that you do not see: other "
    "values, other sizes, other orders of workgroups.";

// What is sent to it does not leave the machine.
bool is_local(const std::string& url) {
  const std::string host = url.substr(7, url.find('/', 7) - 7);  // behind "http://"
  const std::string name = host.substr(0, host.find(':'));
  return name == "localhost" || host.starts_with("[::1]") ||
         (name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string::npos);
}

void sleep_seconds(double seconds) {
  timespec left{
      static_cast<time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

// What the service says of its error, in one line.
std::string said_in(const std::string& body) {
  const Json json = util::read_json(body);
  std::string text = body;
  if (json.is_object() && json.contains("error")) {
    const Json& error = json["error"];
    if (error.is_string()) text = error.get<std::string>();
    else if (error.is_object() && error.contains("message") && error["message"].is_string())
      text = error["message"].get<std::string>();
  }
  text = text.substr(0, text.find('\n'));
  if (text.size() > kReasonBytes) text = text.substr(0, kReasonBytes) + "…";
  return text;
}

// Files as plain text: in JSON, every line would be full of backslashes.
std::string fences(const Json& files) {
  std::string text;
  for (const auto& [file, source] : files.items())
    text += fmt::format("\n{}:\n```\n{}\n```\n", file, source.get<std::string>());
  return text;
}

class HttpProvider final : public Provider {
 public:
  explicit HttpProvider(HttpOptions options)
      : options_(std::move(options)),
        random_(static_cast<uint64_t>(getpid())),
        url_(options_.base_url + "/chat/completions") {}

  std::string name() const override {
    return fmt::format("http:{} at {}", options_.model, options_.base_url);
  }
  Usage usage() const override { return usage_; }
  void begin_with(const Usage& before) override { usage_ = before; }
  std::string stopped() const override { return over_; }

  Json prompt(const Json& request) const override {
    Json facts = request;
    facts.erase("sources");
    facts.erase("candidate");
    std::string text = util::json_line(facts) + "\n" + fences(request.at("sources"));
    if (request.contains("candidate"))
      text += "\nYour last answer, which does not build (build_errors):\n" +
              fences(request.at("candidate"));
    Json body = {{"model", options_.model},
                 {"messages",
                  {{{"role", "system"}, {"content", kInstructions}},
                   {{"role", "user"}, {"content", text}}}}};
    if (options_.temperature >= 0) body["temperature"] = options_.temperature;
    if (options_.answer_tokens != 0) body[limit_field_] = options_.answer_tokens;
    return body;
  }

  Result<Proposed> propose(const Json& request) override {
    if (!over_.empty()) return Proposed{true, over_, {}};
    const Sources sources = request.at("sources").get<Sources>();
    std::string body = util::json_line(prompt(request));
    over_ = limit_reached(body.size() / kBytesPerToken + options_.answer_tokens);
    if (!over_.empty()) return Proposed{true, over_, {}};
    Result<HttpReply> reply = ask(body);
    if (reply.ok() && reply->status == 400 && options_.answer_tokens != 0 &&
        reply->body.find("max_completion_tokens") != std::string::npos) {
      limit_field_ = "max_completion_tokens";  // newer models want it under this name
      body = util::json_line(prompt(request));
      reply = ask(body);
    }
    if (!reply.ok()) {
      over_ = reply.error().message;
      return reply.error();
    }
    return take(*reply, body.size(), sources);
  }

 private:
  // Why a question of this many tokens may not be asked.
  std::string limit_reached(uint64_t tokens) const {
    const uint64_t used = usage_.prompt_tokens + usage_.answer_tokens;
    if (options_.most_tokens != 0 && used + tokens > options_.most_tokens)
      return fmt::format("{} tokens used, about {} more needed: above --max-tokens {}", used,
                         tokens, options_.most_tokens);
    const uint64_t in_prompt = tokens - std::min(tokens, options_.answer_tokens);
    const double cost = usage_.cost + cost_of(in_prompt, options_.answer_tokens);
    if (options_.most_cost > 0 && cost > options_.most_cost)
      return fmt::format("{:.4f} spent, about {:.4f} more needed: above --max-cost {:g}",
                         usage_.cost, cost - usage_.cost, options_.most_cost);
    return "";
  }

  double cost_of(uint64_t prompt_tokens, uint64_t answer_tokens) const {
    return (static_cast<double>(prompt_tokens) * options_.prompt_price +
            static_cast<double>(answer_tokens) * options_.answer_price) /
           1e6;
  }

  // Asks until there is an answer that more asking would not change.
  Result<HttpReply> ask(const std::string& body) {
    double wait = kFirstWait;
    for (uint32_t turn = 0;; ++turn) {
      ++usage_.requests;
      Result<HttpReply> reply =
          post_json({url_, body, options_.key, options_.seconds, kMostAnswerBytes});
      if (!reply.ok()) return reply;
      clean(*reply);
      const long status = reply->status;
      const bool again = status == 408 || status == 429 || status >= 500 || reply->can_retry ||
                         (status == 200 && !Json::accept(reply->body));
      if (!again || turn >= options_.retries) return reply;
      const double pause =
          reply->retry_after >= 0 ? reply->retry_after : wait * (0.5 + random_.unit() / 2);
      if (pause > options_.seconds) return reply;  // it would be a long silence; the reason says it
      ++usage_.retries;
      sleep_seconds(pause);
      wait = std::min(wait * 2, kLongestWait);
    }
  }

  void clean(HttpReply& reply) const {
    if (options_.key.empty()) return;
    for (std::string* text : {&reply.body, &reply.location, &reply.failure})
      util::replace_all(*text, options_.key, "[key]");
  }

  Result<Proposed> take(const HttpReply& reply, size_t asked_bytes, const Sources& sources) {
    const std::string& where = options_.base_url;
    if (reply.status == 0) return Error{where + ": " + reply.failure};
    if (reply.status >= 300 && reply.status < 400) {
      over_ = fmt::format("{}: redirects to {}; if you trust that host, name it with --base-url",
                          where, reply.location.empty() ? "nowhere" : reply.location);
      return Error{over_};
    }
    if (reply.status != 200) {
      const std::string what =
          fmt::format("{}: HTTP status {}: {}", where, reply.status, said_in(reply.body));
      const bool may_pass = reply.status == 408 || reply.status == 429 || reply.status >= 500;
      if (reply.status == 429 && reply.retry_after > options_.seconds)
        over_ = fmt::format("{}; it wants no question for {:g} seconds", what, reply.retry_after);
      else if (!may_pass) over_ = what;
      return Error{over_.empty() ? what : over_};
    }
    const Json json = util::read_json(reply.body);
    try {
      if (!json.is_object()) return Error{where + ": the answer is not JSON"};
      const Json& choice = json.at("choices").at(0);
      std::string text = choice.at("message").at("content").get<std::string>();
      if (!options_.key.empty()) util::replace_all(text, options_.key, "[key]");
      count(json, asked_bytes, text.size());
      Result<Proposed> found = find_answer(text, sources);
      if (!found.ok() && choice.value("finish_reason", Json()) == "length")
        return Error{found.error().message + "; it was cut short at its limit of tokens"};
      return found;
    } catch (const Json::exception&) {
      return Error{where + ": the answer is not a chat completion: " + said_in(reply.body)};
    }
  }

  void count(const Json& json, size_t asked_bytes, size_t answered_bytes) {
    const Json usage = json.value("usage", Json());
    uint64_t asked = asked_bytes / kBytesPerToken, answered = answered_bytes / kBytesPerToken;
    if (usage.is_object() && usage.contains("prompt_tokens") &&
        usage["prompt_tokens"].is_number_unsigned()) {
      asked = usage["prompt_tokens"].get<uint64_t>();
      answered = usage.value("completion_tokens", answered);
    } else {
      usage_.is_estimated = true;
    }
    usage_.prompt_tokens += asked;
    usage_.answer_tokens += answered;
    usage_.cost += cost_of(asked, answered);
  }

  const HttpOptions options_;
  util::Random random_;
  const std::string url_;
  std::string limit_field_ = "max_tokens";
  Usage usage_;
  std::string over_;
};

Result<std::string> checked_key(std::string key, const std::string& from) {
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r' || key.back() == ' '))
    key.pop_back();
  if (key.empty()) return errorf("%s: no key there", from.c_str());
  for (const char c : key)
    if (c < 0x21 || c > 0x7e)
      return errorf("%s: a character in the key that no header can carry", from.c_str());
  return key;
}

}  // namespace

Result<std::unique_ptr<Provider>> make_http_provider(HttpOptions options) {
  std::string& url = options.base_url;
  while (url.ends_with('/')) url.pop_back();
  if (url.empty())
    return errorf(
        "--provider http: which endpoint? name it with --base-url, as in https://HOST/v1");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return errorf("--base-url %s: not a URL; as in https://HOST/v1", url.c_str());
  if (url.find_first_of("@?# \"'\\") != std::string::npos)
    return errorf(
        "--base-url: users, keys and queries do not belong there; name the key with --key-env or "
        "--key-fd");
  if (options.model.empty()) return errorf("--provider http: which model? name it with --model");
  if (!options.key.empty() && url.starts_with("http://") && !is_local(url))
    return errorf("--base-url %s: the key would be sent in the clear; use https", url.c_str());
  if (options.most_cost > 0 && (options.prompt_price <= 0 || options.answer_price <= 0))
    return errorf(
        "--max-cost: needs --prompt-price and --answer-price, in the same currency per million tokens");
  return std::unique_ptr<Provider>(std::make_unique<HttpProvider>(std::move(options)));
}

Result<std::string> take_key_from_environment(const std::string& name) {
  char* const value = std::getenv(name.c_str());
  if (value == nullptr)
    return errorf("--key-env %s: not in the environment; export it", name.c_str());
  Result<std::string> key = checked_key(value, "--key-env " + name);
  // /proc shows the very bytes that the process was started with.
  for (volatile char* at = value; *at != 0; ++at) *at = 'x';
  unsetenv(name.c_str());
  return key;
}

Result<std::string> take_key_from_descriptor(int fd) {
  const std::string name = "--key-fd " + std::to_string(fd);
  std::string key;
  char buffer[512];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return errorf("%s: %s; as in --key-fd 3 3< FILE", name.c_str(), std::strerror(errno));
    if (count == 0) break;
    key.append(buffer, static_cast<size_t>(count));
    if (key.size() > kMostKeyBytes) return errorf("%s: too long for a key", name.c_str());
  }
  close(fd);
  return checked_key(std::move(key), name);
}

}  // namespace wavetap::optimize
