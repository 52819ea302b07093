#include "probe/handler_list.h"

#include <dlfcn.h>

#include <cstdio>

#include "probe/handlers/builtin.h"

namespace wavetap::probe {
namespace {

using OpenHandler = const wavetap_handler* (*)(const wavetap_host*, const char*);

// Finds wavetap_handler_open() in a library. Null: *why says why not.
OpenHandler load(const std::string& path, std::string* why) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    *why = std::string("cannot be loaded: ") + (reason == nullptr ? "unknown reason" : reason);
    return nullptr;
  }
  char text[200];
  const auto* version = static_cast<const uint32_t*>(::dlsym(library, "wavetap_handler_version"));
  const auto open = reinterpret_cast<OpenHandler>(::dlsym(library, "wavetap_handler_open"));
  if (version == nullptr || open == nullptr) {
    std::snprintf(text, sizeof text, "has no %s: it is no handler; see wavetap/handler.h",
                  version == nullptr ? "wavetap_handler_version" : "wavetap_handler_open");
  } else if (*version > WAVETAP_HANDLER_VERSION) {
    std::snprintf(text, sizeof text,
                  "was made for version %u of wavetap/handler.h, this wavetap has version %u; "
                  "use a newer wavetap",
                  *version, WAVETAP_HANDLER_VERSION);
  } else if (*version == 0) {
    std::snprintf(text, sizeof text, "says version 0 of wavetap/handler.h, which never was");
  } else {
    return open;
  }
  *why = text;
  ::dlclose(library);
  return nullptr;
}

OpenHandler find_builtin(const std::string& name) {
  for (const BuiltinHandler& handler : builtin_handlers())
    if (name == handler.name) return handler.open;
  return nullptr;
}

}  // namespace

std::vector<HandlerChoice> parse_handlers(std::string_view list) {
  std::vector<HandlerChoice> choices;
  std::string entry;
  const auto finish = [&] {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) choices.push_back({entry, ""});
    else choices.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
    entry.clear();
  };
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '\\' && i + 1 < list.size() && list[i + 1] == ',') {
      entry += list[++i];
    } else if (list[i] == ',') {
      finish();
    } else {
      entry += list[i];
    }
  }
  finish();
  return choices;
}

std::string handlers_text(const std::vector<HandlerChoice>& choices) {
  std::string text;
  const auto add = [&](const std::string& part) {
    for (const char c : part) {
      if (c == ',') text += '\\';
      text += c;
    }
  };
  for (const HandlerChoice& choice : choices) {
    if (!text.empty()) text += ',';
    add(choice.name);
    if (choice.arguments.empty()) continue;
    text += '=';
    add(choice.arguments);
  }
  return text;
}

std::vector<RefusedHandler> open_handlers(const std::vector<HandlerChoice>& choices,
                                          Session& session) {
  std::vector<RefusedHandler> refused;
  for (const HandlerChoice& choice : choices) {
    std::string why;
    const OpenHandler open =
        choice.is_library() ? load(choice.name, &why) : find_builtin(choice.name);
    if (open == nullptr) {
      refused.push_back({choice.name, why.empty() ? "there is no such handler" : why});
      continue;
    }
    const wavetap_host* host = session.make_host(choice.name);
    const wavetap_handler* handler = open(host, choice.arguments.c_str());
    if (handler == nullptr) {
      why = session.refusal(host);
      if (why.empty()) why = "did not want to be opened, and does not say why";
    }
    if (handler == nullptr || !session.add(handler, host, &why))
      refused.push_back({choice.name, why});
  }
  return refused;
}

}  // namespace wavetap::probe
