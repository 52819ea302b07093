// What the hooks (HIP, HSA, markers, loader) use of the recorder, src/record.
#pragma once

#include "record/call.h"
#include "record/clock.h"
#include "record/facts.h"
#include "record/helper.h"
#include "record/losses.h"
#include "record/recorder.h"
#include "record/say.h"
#include "record/state.h"
#include "record/sys.h"
#include "record/threads.h"

namespace wavetap::agent {

namespace sys = record::sys;

// State.
using record::ensure_started;
using record::g_fork_wiped;
using record::g_harvest;
using record::g_state;
using record::Inside;
using record::is_passive;
using record::kArguments;
using record::kBarriers;
using record::kHsaCalls;
using record::kKernargs;
using record::kReady;
using record::kRecording;
using record::kStacks;
using record::kWatched;
using record::recording;
using record::t_thread;

// Records of this thread.
using record::enter_call;
using record::leave_call;
using record::OpenCall;
using record::Stream;
using record::stream;
using record::ticks;

// Facts and losses.
using record::add_fact_source;
using record::add_helper_work;
using record::count_loss;
using record::fact;
using record::next_code_object;
using record::next_operation;
using record::next_queue;
using record::report_loss;
using record::say;
using record::session_file;
using record::wake_helper;

}  // namespace wavetap::agent
