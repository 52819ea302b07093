// The provider that asks a language model behind an OpenAI-compatible chat endpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "optimize/provider.h"

namespace wavetap::optimize {

struct HttpOptions {
  std::string base_url;  // "https://host/v1", to which /chat/completions is added
  std::string model;
  std::string key;                            // "": none is sent
  double temperature = -1;                    // below 0: the service's own
  double seconds = 300;                       // of one answer
  uint32_t retries = 4;                       // of one question
  uint64_t answer_tokens = 0;                 // of one answer, at most; 0: the service's own limit
  uint64_t most_tokens = 0;                   // of the whole run; 0: no limit
  double most_cost = 0;                       // the same in money
  double prompt_price = 0, answer_price = 0;  // per million tokens
};

// An error where the options contradict each other or would send the key in the clear.
Result<std::unique_ptr<Provider>> make_http_provider(HttpOptions options);

// The key from a variable or a file descriptor, and nowhere else afterwards: the variable is gone from
// the environment of this process and of those that it starts, the descriptor is closed.
Result<std::string> take_key_from_environment(const std::string& name);
Result<std::string> take_key_from_descriptor(int fd);

}  // namespace wavetap::optimize
