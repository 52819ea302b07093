// A session's life: handlers, dispatches, code. What happens in between: session_events.cc.
#include "probe/session.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/sys.h"
#include "emu/lds_banks.h"
#include "probe/session_state.h"

namespace wavetap::probe {
namespace {

constexpr uint32_t kKnownWants = WAVETAP_WAVES | WAVETAP_BLOCKS | WAVETAP_MEMORY | WAVETAP_VALUES |
                                 WAVETAP_LDS_COST | WAVETAP_BARRIERS | WAVETAP_MESSAGES |
                                 WAVETAP_SERIAL | WAVETAP_SUMS | WAVETAP_TICKS;
constexpr size_t kSizeOfVersion1 = offsetof(wavetap_handler, sum);
bool is_good_name(const char* name) {
  if (name == nullptr || *name == '\0' || std::strlen(name) > 63) return false;
  for (; *name != '\0'; ++name) {
    const char c = *name;
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
    if (!good) return false;
  }
  return true;
}

}  // namespace

Session::Session(Surroundings& surroundings) : surroundings_(surroundings) {}
Session::~Session() = default;

const wavetap_host* Session::make_host(const std::string& name) {
  hosts_.push_back(std::make_unique<HandlerHost>());
  HandlerHost& host = *hosts_.back();
  host.session = this;
  host.name = name;
  host.described.size = sizeof(wavetap_host);
  host.described.version = WAVETAP_HANDLER_VERSION;
  host.described.context = &host;
  host.described.refuse = [](void* context, const char* why) {
    HandlerHost::of(context).refusal = why == nullptr ? "" : why;
  };
  host.described.result = [](void* context, const wavetap_dispatch* dispatch, const char* json,
                             size_t size) {
    HandlerHost& self = HandlerHost::of(context);
    self.session->surroundings_.result(self.name.c_str(), dispatch == nullptr ? 0 : dispatch->id,
                                       {json, size});
  };
  host.described.write = [](void* context, const char* suffix, const void* bytes, size_t size) {
    HandlerHost& self = HandlerHost::of(context);
    return self.session->surroundings_.write(self.name.c_str(), suffix,
                                             {static_cast<const char*>(bytes), size})
               ? 1
               : 0;
  };
  host.described.lose = [](void* context, uint64_t count) {
    HandlerHost& self = HandlerHost::of(context);
    self.session->surroundings_.lose(self.name.c_str(), count);
  };
  host.described.source = [](void* context, const wavetap_code* described, uint32_t site,
                             uint32_t frame, wavetap_source* out) -> uint32_t {
    Session& session = *HandlerHost::of(context).session;
    const Code* code = nullptr;
    {
      const std::lock_guard lock(session.code_mutex_);
      if (described == nullptr || described->id >= session.codes_.size()) return 0;
      code = session.codes_[described->id].get();
    }
    return site < code->described.site_count ? session.surroundings_.source(*code, site, frame, out)
                                             : 0;
  };
  host.described.buffer = [](void* context, const wavetap_dispatch* dispatch, uint64_t address,
                             wavetap_buffer* out) {
    Session& session = *HandlerHost::of(context).session;
    return dispatch != nullptr && session.surroundings_.buffer(dispatch->gpu, address, out) ? 1 : 0;
  };
  return &host.described;
}

const std::string& Session::refusal(const wavetap_host* host) const {
  return HandlerHost::of(host->context).refusal;
}

bool Session::add(const wavetap_handler* given, const wavetap_host* host, std::string* why) {
  char text[160];
  auto added = std::make_unique<SessionHandler>();
  const wavetap_handler* const handler = added->calls;
  if (given->size == sizeof(wavetap_handler) || given->size == kSizeOfVersion1) {
    std::memcpy(&added->copy, given, given->size);
  } else {
    std::snprintf(text, sizeof text,
                  "its wavetap_handler has %zu bytes, that of version %u has %zu; compile it with "
                  "the wavetap/handler.h it names",
                  given->size, WAVETAP_HANDLER_VERSION, sizeof(wavetap_handler));
    *why = text;
    return false;
  }
  if (!is_good_name(handler->name)) {
    *why = "its name is not made of letters, digits, '_' and '-'";
    return false;
  }
  if ((handler->wants & ~kKnownWants) != 0) {
    std::snprintf(text, sizeof text, "it asks for events that this wavetap does not have (0x%x)",
                  handler->wants & ~kKnownWants);
    *why = text;
    return false;
  }
  const std::pair<uint32_t, bool> functions[] = {
      {WAVETAP_WAVES, handler->wave != nullptr},
      {WAVETAP_BLOCKS, handler->block != nullptr},
      {WAVETAP_MEMORY | WAVETAP_VALUES, handler->memory != nullptr},
      {WAVETAP_BARRIERS, handler->barrier != nullptr},
      {WAVETAP_MESSAGES, handler->message != nullptr},
      {WAVETAP_SUMS, handler->sum != nullptr}};
  for (const auto& [wanted, has] : functions)
    if ((handler->wants & wanted) != 0 && !has) {
      *why = "it asks for events that it has no function for";
      return false;
    }
  if (handlers_.size() == kMaxHandlers) {
    std::snprintf(text, sizeof text, "there are %zu handlers already, the most there can be",
                  kMaxHandlers);
    *why = text;
    return false;
  }
  for (const auto& other : handlers_)
    if (std::strcmp(other->calls->name, handler->name) == 0) {
      *why = std::string("there is a handler ") + handler->name + " already";
      return false;
    }
  added->is_serial = (handler->wants & WAVETAP_SERIAL) != 0;
  HandlerHost::of(host->context).name = handler->name;
  listen(*added);
  handlers_.push_back(std::move(added));
  const wavetap_session session{
      .size = sizeof session,
      .version = WAVETAP_HANDLER_VERSION,
      .pid = static_cast<uint32_t>(sys::pid()),
  };
  if (handler->session_begin != nullptr) handler->session_begin(handler->self, &session);
  return true;
}

void Session::listen(SessionHandler& handler) {
  const uint32_t wants = handler.calls->wants;
  const Listener listener{&handler, handlers_.size(), handler.is_serial ? nullptr : handler.calls};
  wants_ |= wants;
  if ((wants & WAVETAP_BLOCKS) != 0) {
    of_blocks_.push_back(listener);
    sole_block_ = of_blocks_.size() == 1 && !handler.is_serial ? handler.calls->block : nullptr;
    sole_number_ = listener.number;
  }
  if ((wants & WAVETAP_VALUES) != 0) of_values_.push_back(listener);
  else if ((wants & WAVETAP_MEMORY) != 0) of_accesses_.push_back(listener);
}

uint64_t Session::begin(const emu::Dispatch& dispatch, DispatchFacts facts) {
  auto active = std::make_unique<ActiveDispatch>();
  active->dispatch = &dispatch;
  active->facts = std::move(facts);
  active->target = amd::to_string(dispatch.target);
  wavetap_dispatch& described = active->described;
  described.size = sizeof described;
  described.kernel = active->facts.kernel.c_str();
  described.target = active->target.c_str();
  described.gpu_model = active->facts.gpu_model.c_str();
  described.gpu = active->facts.gpu;
  described.queue = active->facts.queue;
  described.workgroup_count = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t size = std::max<uint32_t>(dispatch.workgroup_size[axis], 1);
    described.grid_size[axis] = dispatch.grid_size[axis];
    described.workgroup_size[axis] = dispatch.workgroup_size[axis];
    described.workgroup_count *= (uint64_t{dispatch.grid_size[axis]} + size - 1) / size;
  }
  described.wave_size = active->facts.wave64 ? 64 : 32;
  described.line_bytes = active->facts.line_bytes;
  described.lds_banks = emu::lds_bank_count(dispatch.target);
  described.lds_bytes = dispatch.group_segment_bytes;
  described.scratch_bytes = dispatch.private_segment_bytes;
  if (!active->facts.kernarg.empty()) {
    described.kernarg = active->facts.kernarg.data();
    described.kernarg_bytes = static_cast<uint32_t>(active->facts.kernarg.size());
  }
  ActiveDispatch& made = *active;
  {
    const std::lock_guard lock(active_mutex_);
    described.id = ++last_id_;
  }
  for (size_t i = 0; i < handlers_.size(); ++i)
    made.of_handler[i] = handlers_[i]->call([&](const wavetap_handler& handler) -> void* {
      return handler.dispatch_begin == nullptr ? nullptr
                                               : handler.dispatch_begin(handler.self, &described);
    });
  const std::lock_guard lock(active_mutex_);
  active_.push_back(std::move(active));
  return made.described.id;
}

void Session::end(const emu::Dispatch& dispatch, uint32_t status) {
  std::unique_ptr<ActiveDispatch> active;
  {
    const std::lock_guard lock(active_mutex_);
    const auto found = std::find_if(active_.begin(), active_.end(), [&](const auto& candidate) {
      return candidate->dispatch == &dispatch;
    });
    if (found == active_.end()) return;
    active = std::move(*found);
    active_.erase(found);
  }
  active->described.status = status;
  for (size_t i = 0; i < handlers_.size(); ++i) {
    handlers_[i]->call([&](const wavetap_handler& handler) {
      if (handler.strand_end != nullptr)
        for (const auto& strand : active->strands)
          handler.strand_end(handler.self, active->of_handler[i], strand->of_handler[i]);
      if (handler.dispatch_end != nullptr)
        handler.dispatch_end(handler.self, active->of_handler[i], &active->described);
    });
  }
}

std::vector<const Code*> Session::take_new_code() {
  const std::lock_guard lock(code_mutex_);
  std::vector<const Code*> taken;
  for (; taken_ < codes_.size(); ++taken_) taken.push_back(codes_[taken_].get());
  return taken;
}

const Code* Session::code_of(const isa::Program& program) {
  const std::lock_guard lock(code_mutex_);
  const auto found = by_program_.find(&program);
  return found == by_program_.end() ? nullptr : found->second;
}

const Code* Session::learn(const isa::Program& program) {
  const uint64_t fingerprint = fingerprint_of(program);
  const std::lock_guard lock(code_mutex_);
  const Code*& code = by_fingerprint_[fingerprint];
  if (code == nullptr) {
    codes_.push_back(make_code(program, static_cast<uint32_t>(codes_.size())));
    code = codes_.back().get();
  }
  // An address at which an older Program was may be used again.
  by_program_[&program] = code;
  return code;
}

}  // namespace wavetap::probe
