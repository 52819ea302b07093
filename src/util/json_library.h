// nlohmann's JSON, without what it compiles into everybody who names it.
//
// Its header defines "…"_json, a function that nobody here calls. Because it is no template the compiler makes ready for it, in
// every unit, the second kind of JSON (util/json.h says which one is ours) and all that reads it: a fifth of what some units
// cost. The name is a macro while the header is read, so that what becomes of the definition is a template nobody uses. Where
// newer headers write the name so that no macro sees it, units merely take longer to compile.
#pragma once

#define JSON_USE_GLOBAL_UDLS 0
#define _json(text, size)     \
  _json(text, size) = delete; \
  template <class>            \
  nlohmann::json unused_literal(text, size)
#include <nlohmann/json.hpp>
#undef _json
