#include "vgpu/fault_delivery.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

#include "amd/kernel_descriptor.h"
#include "base/log.h"
#include "isa/program.h"
#include "vgpu/gpu.h"
#include "vgpu/queue_kernel_names.h"
#include "vgpu/queue_signal.h"

namespace wavetap::vgpu {
namespace {

constexpr uint64_t kPageMask = 4095;
// An allocation further away than this says nothing about a wild address.
constexpr uint64_t kFarBytes = uint64_t{1} << 30;

// Appends to a fixed buffer and never overruns it.
class Text {
 public:
  Text(char* text, size_t size) : text_(text), size_(size) {
    if (size_ > 0) text_[0] = '\0';
  }
  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    if (used_ >= size_) return;
    va_list args;
    va_start(args, format);
    const int written = std::vsnprintf(text_ + used_, size_ - used_, format, args);
    va_end(args);
    if (written > 0) used_ += static_cast<size_t>(written);
  }

 private:
  char* text_;
  size_t size_;
  size_t used_ = 0;
};

bool is_memory_fault(emu::FaultKind kind) {
  return kind == emu::FaultKind::kPageFault || kind == emu::FaultKind::kWriteToReadOnly ||
         kind == emu::FaultKind::kExecuteForbidden;
}

QueueError error_of(emu::FaultKind kind) {
  switch (kind) {
    case emu::FaultKind::kApertureViolation:
    case emu::FaultKind::kMisaligned: return QueueError::kApertureViolation;
    case emu::FaultKind::kIllegalInstruction:
    case emu::FaultKind::kUnimplemented: return QueueError::kIllegalInstruction;
    case emu::FaultKind::kBadDescriptor: return QueueError::kCodeObject;
    default: return QueueError::kTrap;
  }
}

// KFD's number of the exception that stands for `error`.
uint32_t exception_of(QueueError error) {
  switch (error) {
    case QueueError::kTrap: return 2;
    case QueueError::kIllegalInstruction: return 4;
    case QueueError::kApertureViolation: return 6;
    case QueueError::kDimensions: return 16;
    case QueueError::kGroupMemory: return 17;
    case QueueError::kCodeObject: return 18;
    case QueueError::kPacket: return 20;
    case QueueError::kWorkgroupSize: return 21;
    case QueueError::kRegisters: return 22;
    case QueueError::kVendorPacket: return 23;
  }
  return 2;
}

// False: the queue has nobody who could be told.
bool tell(const FaultSite& site, QueueError error) {
  return raise_queue_exception(site.queue, exception_of(error)) ||
         raise_queue_error(site.queue, site.memory, site.amd_queue, static_cast<uint32_t>(error));
}

// "64 bytes past the end of [0x…, 0x…)" and the like.
void add_neighbourhood(Text& text, const FaultSite& site, GpuAddr address) {
  const std::optional<emu::MappedRange> near = site.queue.gpu->space.nearest(address);
  const uint64_t distance = !near                         ? UINT64_MAX
                            : address.value < near->begin ? near->begin - address.value
                            : address.value >= near->end  ? address.value - near->end
                                                          : 0;
  if (distance > kFarBytes) {
    text.add(" (nothing is mapped near it)");
    return;
  }
  const QueueHooks& hooks = *site.queue.hooks;
  char described[256];
  if (hooks.describe_address != nullptr &&
      hooks.describe_address(hooks.context, *site.queue.gpu, address, described,
                             sizeof described)) {
    text.add(" (%s)", described);
    return;
  }
  const auto begin = static_cast<unsigned long long>(near->begin);
  const auto size = static_cast<unsigned long long>(near->end - near->begin);
  if (address.value < near->begin) {
    text.add(" (%llu bytes before the %llu bytes at 0x%llx)",
             static_cast<unsigned long long>(distance), size, begin);
  } else if (address.value >= near->end) {
    text.add(" (%llu bytes past the end of the %llu bytes at 0x%llx)",
             static_cast<unsigned long long>(distance), size, begin);
  } else {
    text.add(" (inside the %s %llu bytes at 0x%llx)", near->writable ? "writable" : "read-only",
             size, begin);
  }
}

void add_where(Text& text, const FaultSite& site) {
  text.add("gpu %s (node %u), queue %u: ", site.queue.gpu->model.name.c_str(), site.queue.gpu->node,
           site.queue.id);
}

void add_kernel(Text& text, const FaultSite& site, GpuAddr kernel_object,
                const KernelPlace& place) {
  const QueueHooks& hooks = *site.queue.hooks;
  char name[256];
  const bool named =
      hooks.kernel_name != nullptr &&
      hooks.kernel_name(hooks.context, *site.queue.gpu, kernel_object, name, sizeof name);
  if (!named && place.found) {
    text.add(" in kernel %s", place.name.c_str());
  } else if (named) {
    text.add(" in kernel %s", name);
  } else {
    text.add(" in the kernel at 0x%llx", static_cast<unsigned long long>(kernel_object.value));
  }
}

void add_instruction(Text& text, const FaultSite& site, const emu::Fault& fault,
                     const emu::Dispatch& dispatch, const KernelPlace& place) {
  text.add(", pc 0x%llx", static_cast<unsigned long long>(fault.pc.value));
  if (place.has_entry && fault.pc.value >= place.entry.value) {
    text.add(" (entry + 0x%llx)",
             static_cast<unsigned long long>(fault.pc.value - place.entry.value));
  }
  // Up to 20 bytes: the longest encoding. Less at the end of a mapping.
  std::byte code[20];
  size_t size = sizeof code;
  while (size >= 4 && !site.memory.read(fault.pc, code, size)) size -= 4;
  if (size >= 4) {
    const std::string assembler =
        isa::disassemble({code, size}, dispatch.target, fault.wave64, fault.pc);
    const size_t begin = assembler.find_first_not_of(" \t\n");
    if (begin != std::string::npos) {
      std::string line = assembler.substr(begin, assembler.find('\n', begin) - begin);
      for (char& c : line) c = c == '\t' ? ' ' : c;
      text.add(": `%s`", line.c_str());
    }
  }
  if (!place.frames.empty())
    text.add(" at %s",
             codeobj::full_place(place.frames[codeobj::users_frame(place.frames)]).c_str());
}

void post_page_fault(const FaultSite& site, GpuAddr address, bool read_only, bool no_execute) {
  MemoryFaultData data;
  data.not_present = !read_only && !no_execute;
  data.read_only = read_only;
  data.no_execute = no_execute;
  data.address = address.value & ~kPageMask;
  data.gpu_id = site.queue.gpu->gpu_id;
  site.queue.events->post_memory_fault(data);
}

void post_engine_hang(const FaultSite& site) {
  HwExceptionData data;
  data.reset_type = 1;
  data.gpu_id = site.queue.gpu->gpu_id;
  site.queue.events->post_hw_exception(data);
}

}  // namespace

void describe_wave_fault(const FaultSite& site, const emu::Fault& fault,
                         const emu::Dispatch& dispatch, char* buffer, size_t size) {
  const GpuAddr kernel_object =
      fault.kernel_object.value != 0 ? fault.kernel_object : dispatch.kernel_object;
  const KernelPlace place = find_kernel(*site.queue.gpu, site.memory, kernel_object, fault.pc);

  Text text(buffer, size);
  add_where(text, site);
  text.add("%s", emu::fault_name(fault.kind));
  if (fault.kind == emu::FaultKind::kTrap && fault.detail[0] == '\0')
    text.add(" %u", fault.trap_id);
  if (fault.address.value != 0 || is_memory_fault(fault.kind)) {
    text.add(": %s 0x%llx", fault.is_write ? "write to" : "read of",
             static_cast<unsigned long long>(fault.address.value));
    add_neighbourhood(text, site, fault.address);
  }
  if (fault.detail[0] != '\0')
    text.add(": %.*s", static_cast<int>(sizeof fault.detail), fault.detail);
  add_kernel(text, site, kernel_object, place);
  if (fault.kind == emu::FaultKind::kBadDescriptor) return;
  text.add(", workgroup (%u,%u,%u) wave %u", fault.workgroup[0], fault.workgroup[1],
           fault.workgroup[2], fault.wave);
  if (fault.lane >= 0) text.add(" lane %d", fault.lane);
  add_instruction(text, site, fault, dispatch, place);
}

void deliver_wave_fault(const FaultSite& site, const emu::Fault& fault,
                        const emu::Dispatch& dispatch) {
  char text[1024];
  describe_wave_fault(site, fault, dispatch, text, sizeof text);
  log::complain("%s", text);
  if (is_memory_fault(fault.kind)) {
    post_page_fault(site, fault.address, fault.kind == emu::FaultKind::kWriteToReadOnly,
                    fault.kind == emu::FaultKind::kExecuteForbidden);
    return;
  }
  tell(site, error_of(fault.kind));
}

void deliver_access_fault(const FaultSite& site, const AccessFault& fault, const char* doing) {
  char buffer[1024];
  Text text(buffer, sizeof buffer);
  add_where(text, site);
  const char* kind = fault.error == AccessError::kReadOnly     ? "write to read-only memory"
                     : fault.error == AccessError::kMisaligned ? "misaligned access"
                                                               : "page fault";
  text.add("%s: %s 0x%llx", kind, fault.is_write ? "write to" : "read of",
           static_cast<unsigned long long>(fault.address.value));
  add_neighbourhood(text, site, fault.address);
  text.add(" while %s", doing);
  log::complain("%s", buffer);
  if (fault.error == AccessError::kMisaligned) {
    if (!tell(site, QueueError::kPacket)) post_engine_hang(site);
    return;
  }
  post_page_fault(site, fault.address, fault.error == AccessError::kReadOnly, /*no_execute=*/false);
}

void deliver_packet_error(const FaultSite& site, QueueError error, const char* format, ...) {
  char buffer[512];
  Text text(buffer, sizeof buffer);
  add_where(text, site);
  char what[384];
  va_list args;
  va_start(args, format);
  std::vsnprintf(what, sizeof what, format, args);
  va_end(args);
  text.add("%s", what);
  log::complain("%s", buffer);
  if (!tell(site, error)) post_engine_hang(site);
}

}  // namespace wavetap::vgpu
