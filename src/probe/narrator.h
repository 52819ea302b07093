// Narrator: tells a session's handlers what records of instrumented kernels say, after the fact, as if it
// happened. The session is one that no engine drives: begin() and end() of a dispatch as always, and
// between them workgroup by workgroup what its waves did.
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>

#include "emu/dispatch.h"
#include "probe/code.h"
#include "probe/session.h"

namespace wavetap::probe {

struct Strand;

class Narrator {
 public:
  explicit Narrator(Session& session) : session_(session) {}

  // What the handlers want that need every event, and those that make do with sums.
  uint32_t wants() const;
  uint32_t wants_sums() const;
  // Fills in the number.
  const Code* add_code(std::unique_ptr<Code> code);

  // Everything below is about this one until the next call.
  void begin_workgroup(const emu::Dispatch& dispatch, const uint32_t (&id)[3], uint64_t number,
                       uint32_t waves, uint64_t lanes);
  void end_workgroup(bool complete);

  struct At {
    const Code* code;
    uint32_t site;
    uint32_t wave;
    uint64_t exec;
  };
  struct Access {
    uint8_t space;
    uint8_t access;
    uint32_t element_bytes;
    uint64_t lanes;
    const uint64_t* address;  // by lane
    uint8_t part, parts;
  };
  void block(const At& at);
  void memory(const At& at, const Access& access);
  void barrier(const At& at);
  void message(const At& at, uint32_t kind, uint32_t value);

  // Between begin() and end() of a dispatch, in no workgroup: what was counted. For handlers that want
  // `kinds` of events and make do with sums.
  void sum(const emu::Dispatch& dispatch, const wavetap_sum& sum, uint32_t kinds);

 private:
  // Makes the one strand there is; false: no such dispatch is under way.
  bool find_strand(const emu::Dispatch& dispatch);
  void tell_waves(uint32_t what);
  wavetap_point point(const At& at) const;
  template <class F>
  void tell(uint32_t wanted, F&& f);

  Session& session_;
  Strand* strand_ = nullptr;
  uint64_t lanes_ = 0;
};

}  // namespace wavetap::probe
