// The raw trace, byte by byte: what the agent writes inside the traced process and what import,
// tail, top and the post-mortem read. Both sides compile this file; docs/format.md says the same in
// prose.
//
//   session folder
//     <pid>-<start>.<stream>.<ordinal>.chunk      one file per chunk; ChunkHeader, then records
//     <pid>-<start>.<n>.co                        code objects that only ever lived in memory
//
// A stream is what one thread appends to; stream 0 of a process holds its facts (libraries,
// kernels, queues, clock samples ...) and is appended to under a lock. When a thread ends, one that
// begins later goes on in its files: a kThread record there says whose the records behind it are. The
// files keep the number of the stream they were made for. Nobody but the owner writes,
// nothing is ever changed once written, and a record becomes visible by one store: the body is
// written first, then the 8-byte RecordHeader with release order. A chunk is zero-filled when made,
// so a reader stops at the first zero header: everything before it is whole, whenever the process
// died. Sequence numbers count the records of a stream without gaps; a gap is a loss and is
// reported as one.
//
// All integers are little-endian, all records are multiples of 8 bytes and 8-byte aligned. Times
// are in the units of ChunkHeader::clock; kClockSample facts relate them to CLOCK_BOOTTIME
// nanoseconds. GPU times are CLOCK_BOOTTIME nanoseconds already (ROCr converts them).
//
// Raise kFormatVersion when a reader of the old version would misread the new; new kinds do not
// need that, readers skip what they do not know and count it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavetap::format {

inline constexpr uint32_t kFormatVersion = 3;
inline constexpr uint32_t kOldestVersion = 1;  // without kCallPackedArguments; 2: a file per stream
inline constexpr char kChunkMagic[8] = {'W', 'T', 'C', 'H', 'U', 'N', 'K', '\n'};
inline constexpr uint32_t kFactsStream = 0;

enum class Clock : uint32_t {
  kBoottimeNs = 0,  // clock_gettime(CLOCK_BOOTTIME)
  kCounter = 1,     // the CPU's constant-rate counter: CNTVCT_EL0, or an invariant TSC
};

struct ChunkHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // records begin here
  uint64_t capacity;      // of the whole file
  uint32_t pid;
  uint32_t stream;   // that the file was made for
  uint32_t tid;      // of the thread that began this chunk
  uint32_t ordinal;  // this is the stream's nth chunk, from 0
  // Field 22 of /proc/PID/stat; the top byte counts the programs that the process has become by
  // exec(). With pid it names the program for ever.
  uint64_t process_start;
  uint64_t first_sequence;  // of the first record in this chunk
  uint64_t created;         // time, in units of `clock`
  Clock clock;
  uint32_t checksum;  // CRC-32C of the bytes before this field
  // What follows changes while the chunk is in use and is not covered by the checksum.
  // Bytes in use when the stream moved on to its next chunk; 0: it has not.
  uint64_t sealed;
  uint64_t open_call;   // the outermost call the thread is in: function << 32 | call; 0: none
  uint64_t open_since;  // its start time
  uint64_t reserved[4];
};
static_assert(sizeof(ChunkHeader) == 128);
static_assert(offsetof(ChunkHeader, sealed) == 72);

enum class Kind : uint8_t {
  kEnd = 0,  // a zero header: nothing here yet

  // In thread streams.
  kCall = 1,      // CallRecord: a HIP, HSA or hipRTC function returned
  kDispatch = 2,  // DispatchRecord: a kernel was put on a queue
  kBarrier = 3,   // BarrierRecord: a barrier packet was (only when asked for)
  kCopy = 4,      // CopyRecord: an asynchronous copy or fill was handed to the runtime
  kAllocate = 5,  // AllocateRecord
  kFree = 6,      // FreeRecord
  kMarker = 7,    // MarkerRecord: push, pop, instant, start, stop
  kStack = 8,     // StackRecord: return addresses below the call with the same number
  kComplete = 9,  // CompleteRecord: a dispatch, barrier or copy is done, with its GPU times

  // In stream 0.
  kProcess = 32,  // ProcessFact
  kThread = 33,   // ThreadFact; in another stream's file: what follows is this thread's
  kClockSample = 34,
  kFunction = 35,      // FunctionFact: what a function number of this process means
  kLibrary = 36,       // LibraryFact
  kAgent = 37,         // AgentFact: a CPU or GPU as HSA describes it
  kQueue = 38,         // QueueFact
  kCodeObject = 39,    // CodeObjectFact
  kKernel = 40,        // KernelFact: what a kernel object's address means
  kHostFunction = 41,  // HostFunctionFact: the device name behind a host stub or a hipFunction_t
  kControl = 42,       // ControlFact: recording started, stopped, flushed
  kLoss = 43,          // LossFact: something could not be recorded
  kFault = 44,         // FaultFact: the runtime reported a GPU fault
  kNote = 45,          // NoteFact: a sentence for the user
  kImage = 46,         // ImageFact: address range of a loaded ELF file, for symbolising stacks
  kDevice = 47,        // DeviceFact: what one layer says of one GPU
  kSwap = 48,          // SwapFact: a kernel that is to run as other code
};

struct RecordHeader {
  Kind kind;
  uint8_t flags;      // per kind
  uint16_t words;     // size of the whole record in 8-byte words, this header included
  uint32_t sequence;  // low 32 bits of the record's number in its stream
};
static_assert(sizeof(RecordHeader) == 8);

// The call during which something happened: `call` numbers the calls of one stream from 1, in the
// order they were entered. 0: outside any call.
struct Owner {
  uint32_t stream;
  uint32_t call;
};

// ---- thread streams ----------------------------------------------------------------------------

// flags of kCall
// Argument words follow, laid out as FunctionFact::layout says.
inline constexpr uint8_t kCallHasArguments = 1;
inline constexpr uint8_t kCallLongDuration = 2;  // a word with the full duration follows first
// The same words as with 1, without their upper zero bytes.
inline constexpr uint8_t kCallPackedArguments = 4;

struct CallRecord {
  RecordHeader header;
  uint64_t start;
  uint32_t duration;  // same unit as start; UINT32_MAX with kCallLongDuration
  int32_t result;     // what the function returned (the low 32 bits of a pointer; 0 for void)
  uint16_t function;  // FunctionFact::number
  uint16_t depth;     // calls of this thread that enclose it
  uint32_t call;      // Owner::call
  // [uint64_t full duration] [argument words, packed or not]
};
static_assert(sizeof(CallRecord) == 32);

// flags of kDispatch
// The program asked for a completion signal itself.
inline constexpr uint8_t kDispatchAppSignal = 1;
// No kComplete will come; the reason is a kLoss fact.
inline constexpr uint8_t kDispatchUntimed = 2;
inline constexpr uint8_t kDispatchHasArguments = 4;

struct DispatchRecord {
  RecordHeader header;
  uint64_t id;             // process-wide, from 1, shared by dispatches, barriers and copies
  uint64_t time;           // when the packet was submitted
  uint64_t kernel_object;  // KernelFact::kernel_object at this time
  uint64_t kernarg_address;
  Owner owner;
  uint32_t queue;    // QueueFact::number
  uint32_t grid[3];  // work-items
  uint16_t workgroup[3];
  uint16_t packet_header;  // AQL header: barrier bit, acquire and release scopes
  uint32_t private_bytes;  // scratch per work-item
  uint32_t group_bytes;    // static and dynamic LDS
  // Bytes of the kernarg segment that follow, padded to 8; 0 without the flag.
  uint32_t kernarg_bytes;
  uint32_t ordinal;  // nth dispatch of its owner: a graph's node order
};
static_assert(sizeof(DispatchRecord) == 88);

struct BarrierRecord {
  RecordHeader header;
  uint64_t id;
  uint64_t time;
  Owner owner;
  uint32_t queue;
  uint16_t packet_header;
  uint16_t dependencies;  // signals it waits for
};
static_assert(sizeof(BarrierRecord) == 40);

enum class CopyKind : uint8_t { kCopy = 0, kRect = 1, kFill = 2 };

struct CopyRecord {
  RecordHeader header;  // flags: CopyKind
  uint64_t id;
  uint64_t time;
  uint64_t destination;
  uint64_t source;  // kFill: the 32-bit value
  uint64_t bytes;
  Owner owner;
  uint32_t destination_agent;  // AgentFact::number
  uint32_t source_agent;
  uint32_t engine;  // SDMA engine mask the program asked for; 0: the runtime chose
  uint32_t reserved;
};
static_assert(sizeof(CopyRecord) == 72);

struct CompleteRecord {
  RecordHeader header;  // flags: Kind of what is complete
  uint64_t id;
  int64_t start_ns;  // CLOCK_BOOTTIME
  int64_t end_ns;
};
static_assert(sizeof(CompleteRecord) == 32);

enum class MemoryKind : uint8_t {
  kDevice = 0,
  kFineGrained = 1,
  kHost = 2,
  kKernarg = 3,
  kVirtual = 4,
  kManaged = 5
};

struct AllocateRecord {
  RecordHeader header;  // flags: MemoryKind
  uint64_t time;
  uint64_t address;
  uint64_t bytes;
  Owner owner;
  uint32_t agent;
  uint32_t reserved;
};
static_assert(sizeof(AllocateRecord) == 48);

struct FreeRecord {
  RecordHeader header;
  uint64_t time;
  uint64_t address;
  Owner owner;
};
static_assert(sizeof(FreeRecord) == 32);

enum class MarkerKind : uint8_t { kPush = 0, kPop = 1, kInstant = 2, kStart = 3, kStop = 4 };
// Beside the kind: the third text names the range itself (rpd_rangePush's apiName), the message is
// its argument.
inline constexpr uint8_t kMarkerNamed = 0x80;

struct MarkerRecord {
  RecordHeader header;  // flags: MarkerKind, kMarkerNamed
  uint64_t time;
  uint64_t range;  // kStart, kStop: the id that roctxRangeStart returned
  // kPush, kInstant, kStart: Text message, Text domain, Text category ("" where there is none)
};
static_assert(sizeof(MarkerRecord) == 24);

struct StackRecord {
  RecordHeader header;
  uint32_t call;    // the call whose stack this is
  uint32_t frames;  // return addresses that follow, innermost first
};
static_assert(sizeof(StackRecord) == 16);

// ---- stream 0 ----------------------------------------------------------------------------------

// A text inside a record: this, then `bytes` bytes, then zeros up to a multiple of 8.
struct Text {
  uint32_t bytes;
  uint32_t truncated;  // bytes of the original that were left out
};
static_assert(sizeof(Text) == 8);

struct ProcessFact {
  RecordHeader header;
  uint64_t time;
  uint64_t clock_hz;  // frequency of Clock::kCounter
  uint32_t pid;
  uint32_t parent;
  uint32_t options;   // kOption* below, as recording began
  uint32_t emulated;  // 1: the GPUs are virtual
  // Text executable, Text command line (arguments separated by NUL), Text hostname, Text boot id,
  // Text agent version
};
static_assert(sizeof(ProcessFact) == 40);
inline constexpr uint32_t kOptionArguments = 1;
inline constexpr uint32_t kOptionStacks = 2;
inline constexpr uint32_t kOptionHsa = 4;
inline constexpr uint32_t kOptionBarriers = 8;
inline constexpr uint32_t kOptionKernargs = 16;
// The recorder was not there when the program began: what was bound or looked up before it came may
// pass it by.
inline constexpr uint32_t kOptionLate = 32;

struct ThreadFact {
  RecordHeader header;
  uint64_t time;
  uint32_t stream;
  uint32_t tid;
  // Text name
};
static_assert(sizeof(ThreadFact) == 24);

// The same instant on every clock, taken now and then; the readings are bracketed by `counter` and
// `counter_after`, whose distance is the uncertainty.
struct ClockSampleFact {
  RecordHeader header;
  uint64_t counter;
  uint64_t counter_after;
  int64_t boottime_ns;
  int64_t monotonic_ns;
  int64_t realtime_ns;
};
static_assert(sizeof(ClockSampleFact) == 48);

enum class Api : uint8_t { kHip = 0, kHsa = 1, kHiprtc = 2, kRoctx = 3, kOther = 4 };

enum class ResultType : uint32_t { kErrorCode = 0, kPointer = 1, kNothing = 2 };

struct FunctionFact {
  RecordHeader header;  // flags: Api
  uint32_t number;
  uint32_t result_type;  // ResultType
  // Text name, Text layout (agent/layout.h)
};
static_assert(sizeof(FunctionFact) == 16);

enum class LibraryEvent : uint8_t { kStartup = 0, kOpened = 1, kClosed = 2 };

struct LibraryFact {
  RecordHeader header;  // flags: LibraryEvent
  uint64_t time;
  uint64_t base;
  // Text path, Text soname, Text build id (hex), Text answers_for: the API families whose calls it
  // really receives, separated by blanks ("libamdhip64", "libcuda", "libroctx64" ...)
};
static_assert(sizeof(LibraryFact) == 24);

struct ImageFact {
  RecordHeader header;
  uint64_t time;
  uint64_t begin;
  uint64_t end;
  uint64_t file_offset_delta;  // address - this = the ELF file's own virtual address
  // Text path
};
static_assert(sizeof(ImageFact) == 40);

struct AgentFact {
  RecordHeader header;
  uint32_t number;  // index in the order HSA lists agents
  uint32_t is_gpu;
  uint32_t gpu_index;    // nth GPU, from 0; UINT32_MAX for CPUs
  uint32_t driver_node;  // KFD node id
  uint32_t compute_units;
  uint32_t clock_mhz;
  uint32_t wavefront;
  uint32_t bdf;  // PCI domain << 16 | bus/device/function
  uint64_t memory_bytes;
  // Text name ("gfx1030"), Text product name, Text uuid
};
static_assert(sizeof(AgentFact) == 48);

// Who says it. kEnvironment: variables that change what the others say.
enum class DeviceLayer : uint8_t { kDriver = 0, kHsa = 1, kHip = 2, kCuda = 3, kEnvironment = 4 };

// The figures of one GPU as one layer gives them, for comparison with each other and with the
// published ones.
struct DeviceFact {
  RecordHeader header;  // flags: DeviceLayer
  uint64_t time;
  uint32_t number;  // the layer's own: driver node, AgentFact::number, HIP or CUDA device
  uint32_t bdf;     // as in AgentFact
  // Text figures, Text told: what the program was told instead. Lines "name value\n". The driver's
  // are its files: those of the node's `properties`, `mem_banks/<n>/<name>`, and the PCI device's
  // `revision`.
};
static_assert(sizeof(DeviceFact) == 24);

enum class QueueEvent : uint8_t { kCreated = 1, kDestroyed = 2 };

struct QueueFact {
  RecordHeader header;  // flags: QueueEvent
  uint64_t time;
  uint64_t address;  // hsa_queue_t*
  uint32_t number;   // process-wide, from 1
  uint32_t agent;
  uint32_t size;  // packets
  uint32_t reserved;
};
static_assert(sizeof(QueueFact) == 40);

enum class CodeObjectEvent : uint8_t { kLoaded = 1, kUnloaded = 2 };

struct CodeObjectFact {
  RecordHeader header;  // flags: CodeObjectEvent
  uint64_t time;
  uint32_t number;
  uint32_t agent;
  uint64_t load_base;  // device address
  uint64_t load_bytes;
  uint64_t load_delta;  // device address - ELF virtual address
  uint64_t bytes;       // size of the ELF file
  // Text uri, Text file (relative to the session folder; "" when not saved)
};
static_assert(sizeof(CodeObjectFact) == 56);

struct KernelFact {
  RecordHeader header;
  uint64_t time;
  uint64_t kernel_object;
  uint32_t code_object;  // CodeObjectFact::number; 0 unknown
  uint32_t kernarg_bytes;
  uint32_t group_bytes;  // static LDS
  uint32_t private_bytes;
  // Text mangled name without ".kd"
};
static_assert(sizeof(KernelFact) == 40);

enum class SwapEvent : uint8_t {
  kReplaced = 1,       // dispatches of the kernel become dispatches of the replacement
  kRefused = 2,        // the replacement is not legal: the kernel itself runs
  kLaunchRefused = 3,  // it is not for a launch like this one; said once
  kTurn = 4,           // by turns: dispatches of the kernel itself
  kLoaded = 5,         // its whole code object was loaded in the place of the program's
};

struct SwapFact {
  RecordHeader header;  // flags: SwapEvent
  uint64_t time;
  uint64_t kernel_object;  // the program's
  uint64_t replacement;    // the kernel object that runs instead; 0: none
  uint32_t agent;
  uint32_t reserved;
  // Text file of the replacement, Text reason (one word), Text why
};
static_assert(sizeof(SwapFact) == 40);

struct HostFunctionFact {
  RecordHeader header;
  uint64_t time;
  uint64_t function;  // host stub address or hipFunction_t
  // Text device name (mangled)
};
static_assert(sizeof(HostFunctionFact) == 24);

enum class Control : uint8_t { kStarted = 0, kStopped = 1, kFlushed = 2, kExited = 3, kForked = 4 };

struct ControlFact {
  RecordHeader header;  // flags: Control
  uint64_t time;
  uint32_t by_pid;  // who asked; this process's own for the C API
  uint32_t count;   // the reference count afterwards; kForked: the child's pid
};
static_assert(sizeof(ControlFact) == 24);

enum class Loss : uint8_t {
  kDiskFull = 0,
  kNoMemory = 1,
  kUntimed = 2,
  kTextTruncated = 3,
  kFolder = 4,
  kOther = 5,
  kBypassed = 6,  // a library whose calls cannot be seen; each counts as one
};

struct LossFact {
  RecordHeader header;  // flags: Loss
  uint64_t time;
  uint64_t count;  // events lost since the last fact of the same reason
  // Text what
};
static_assert(sizeof(LossFact) == 24);

struct FaultFact {
  RecordHeader header;
  uint64_t time;
  uint64_t address;
  uint32_t agent;
  uint32_t reason;  // the runtime's mask or status
  uint32_t queue;   // 0 unknown
  uint32_t reserved;
  // Text what
};
static_assert(sizeof(FaultFact) == 40);

struct NoteFact {
  RecordHeader header;
  uint64_t time;
  // Text text
};
static_assert(sizeof(NoteFact) == 16);

}  // namespace wavetap::format
