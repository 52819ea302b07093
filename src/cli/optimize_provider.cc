#include "cli/optimize_provider.h"

#include "optimize/providers.h"

namespace wavetap::cli {

void add_provider_options(Command& command, ProviderOptions& options) {
  optimize::HttpOptions& http = options.http;
  command.add_option("--provider", options.name, "rules, command:PROGRAM or http (rules)")
      ->type_name("NAME");
  command.add_option("--provider-timeout", options.seconds, "seconds of an answer (300)")
      ->type_name("S")
      ->between(0.1, 1e6);
  command.add_option("--base-url", http.base_url, "http: where the chat endpoint is")
      ->type_name("URL");
  command.add_option("--model", http.model, "http: the model to ask")->type_name("NAME");
  command.add_option("--key-env", options.key_variable, "http: variable that holds the key")
      ->type_name("VARIABLE");
  command.add_option("--key-fd", options.key_fd, "http: file descriptor to read the key from")
      ->type_name("N");
  command.add_option("--temperature", http.temperature, "http: of the model (its own)")
      ->type_name("X")
      ->between(0, 100);
  command.add_option("--retries", http.retries, "http: of a question that failed (4)")
      ->type_name("N")
      ->between(0, 1000);
  command.add_option("--answer-tokens", http.answer_tokens, "http: of one answer, at most")
      ->type_name("N");
  command.add_option("--max-tokens", http.most_tokens, "http: of all questions and answers")
      ->type_name("N");
  command.add_option("--max-cost", http.most_cost, "http: of all questions and answers")
      ->type_name("X")
      ->between(1e-9, 1e12);
  command.add_option("--prompt-price", http.prompt_price, "http: of a million tokens asked")
      ->type_name("X")
      ->between(0, 1e9);
  command.add_option("--answer-price", http.answer_price, "http: of a million tokens answered")
      ->type_name("X")
      ->between(0, 1e9);
}

Result<std::unique_ptr<optimize::Provider>> make_provider(const ProviderOptions& options,
                                                          bool is_dry_run) {
  if (options.name != "http") {
    if (!options.http.base_url.empty() || !options.http.model.empty())
      return errorf("--base-url and --model are for --provider http");
    return optimize::make_provider(options.name, options.seconds);
  }
  optimize::HttpOptions http = options.http;
  http.seconds = options.seconds;
  if (!options.key_variable.empty() && options.key_fd >= 0)
    return errorf("--key-fd: the key is in --key-env %s already; give one of them",
                  options.key_variable.c_str());
  if (!is_dry_run && (!options.key_variable.empty() || options.key_fd >= 0)) {
    Result<std::string> key = options.key_fd >= 0
                                  ? optimize::take_key_from_descriptor(options.key_fd)
                                  : optimize::take_key_from_environment(options.key_variable);
    if (!key.ok()) return key.error();
    http.key = *key;
  }
  return optimize::make_http_provider(std::move(http));
}

}  // namespace wavetap::cli
