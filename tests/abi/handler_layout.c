/* Where everything lies in the structures of wavetap/handler.h: libraries of handlers that were built with
 * version 1 of the header are loaded by every later wavetap. A line changes only with
 * WAVETAP_HANDLER_VERSION; a new member comes last, where `size` tells whether it is there. Compiled, never
 * run. */
#include <stddef.h>

#include "wavetap/handler.h"

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define PIN(type, member, bytes) _Static_assert(offsetof(type, member) == (bytes), #type "." #member);

_Static_assert(sizeof(void*) == 8, "all platforms of ROCm have 64 bits");
_Static_assert(WAVETAP_HANDLER_VERSION == 2u, "raised: are all changes below additions?");

/* clang-format off */
SIZE(wavetap_site, 32)
PIN(wavetap_site, offset, 0) PIN(wavetap_site, block, 4) PIN(wavetap_site, block_end, 8)
PIN(wavetap_site, target, 12) PIN(wavetap_site, mnemonic, 16) PIN(wavetap_site, category, 24)
PIN(wavetap_site, flags, 25) PIN(wavetap_site, size_bytes, 26) PIN(wavetap_site, reserved, 27)

SIZE(wavetap_code, 48)
PIN(wavetap_code, size, 0) PIN(wavetap_code, id, 8) PIN(wavetap_code, site_count, 12)
PIN(wavetap_code, sites, 16) PIN(wavetap_code, address, 24) PIN(wavetap_code, target, 32)
PIN(wavetap_code, wave_size, 40)

SIZE(wavetap_session, 16)
PIN(wavetap_session, size, 0) PIN(wavetap_session, version, 8) PIN(wavetap_session, pid, 12)

SIZE(wavetap_dispatch, 120)
PIN(wavetap_dispatch, size, 0) PIN(wavetap_dispatch, id, 8) PIN(wavetap_dispatch, kernel, 16)
PIN(wavetap_dispatch, target, 24) PIN(wavetap_dispatch, gpu_model, 32)
PIN(wavetap_dispatch, gpu, 40) PIN(wavetap_dispatch, queue, 44)
PIN(wavetap_dispatch, grid_size, 48) PIN(wavetap_dispatch, workgroup_size, 60)
PIN(wavetap_dispatch, workgroup_count, 72) PIN(wavetap_dispatch, wave_size, 80)
PIN(wavetap_dispatch, line_bytes, 84) PIN(wavetap_dispatch, lds_banks, 88)
PIN(wavetap_dispatch, lds_bytes, 92) PIN(wavetap_dispatch, scratch_bytes, 96)
PIN(wavetap_dispatch, kernarg, 104) PIN(wavetap_dispatch, kernarg_bytes, 112)
PIN(wavetap_dispatch, status, 116)

SIZE(wavetap_wave, 32)
PIN(wavetap_wave, dispatch, 0) PIN(wavetap_wave, workgroup, 8) PIN(wavetap_wave, number, 20)
PIN(wavetap_wave, workgroup_number, 24)

SIZE(wavetap_point, 32)
PIN(wavetap_point, wave, 0) PIN(wavetap_point, code, 8) PIN(wavetap_point, site, 16)
PIN(wavetap_point, reserved, 20) PIN(wavetap_point, exec, 24)

SIZE(wavetap_wave_event, 48)
PIN(wavetap_wave_event, size, 0) PIN(wavetap_wave_event, at, 8) PIN(wavetap_wave_event, what, 40)

SIZE(wavetap_block, 64)
PIN(wavetap_block, size, 0) PIN(wavetap_block, at, 8) PIN(wavetap_block, from_code, 40)
PIN(wavetap_block, from_block, 48) PIN(wavetap_block, reserved, 52)
PIN(wavetap_block, from_exec, 56)

SIZE(wavetap_lds_cost, 32)
PIN(wavetap_lds_cost, cycles, 0) PIN(wavetap_lds_cost, ideal_cycles, 4)
PIN(wavetap_lds_cost, bank_conflicts, 8) PIN(wavetap_lds_cost, address_conflicts, 12)
PIN(wavetap_lds_cost, ways, 16) PIN(wavetap_lds_cost, bank, 20) PIN(wavetap_lds_cost, lanes, 24)

SIZE(wavetap_memory, 136)
PIN(wavetap_memory, size, 0) PIN(wavetap_memory, at, 8) PIN(wavetap_memory, space, 40)
PIN(wavetap_memory, access, 41) PIN(wavetap_memory, flags, 42) PIN(wavetap_memory, part, 43)
PIN(wavetap_memory, parts, 44) PIN(wavetap_memory, reserved, 45)
PIN(wavetap_memory, element_bytes, 48) PIN(wavetap_memory, reserved1, 52)
PIN(wavetap_memory, byte_mask, 56) PIN(wavetap_memory, lanes, 64) PIN(wavetap_memory, outside, 72)
PIN(wavetap_memory, address, 80) PIN(wavetap_memory, values, 88)
PIN(wavetap_memory, value_stride, 96) PIN(wavetap_memory, reserved2, 100)
PIN(wavetap_memory, lds, 104)

SIZE(wavetap_barrier, 48)
PIN(wavetap_barrier, size, 0) PIN(wavetap_barrier, at, 8) PIN(wavetap_barrier, what, 40)

SIZE(wavetap_message, 48)
PIN(wavetap_message, size, 0) PIN(wavetap_message, at, 8) PIN(wavetap_message, kind, 40)
PIN(wavetap_message, value, 44)

SIZE(wavetap_sum, 72)
PIN(wavetap_sum, size, 0) PIN(wavetap_sum, code, 8) PIN(wavetap_sum, site, 16)
PIN(wavetap_sum, what, 20) PIN(wavetap_sum, count, 24) PIN(wavetap_sum, lanes, 32)
PIN(wavetap_sum, from_code, 40) PIN(wavetap_sum, from_block, 48) PIN(wavetap_sum, reserved, 52)
PIN(wavetap_sum, ticks, 56) PIN(wavetap_sum, most_ticks, 64)

SIZE(wavetap_source, 32)
PIN(wavetap_source, size, 0) PIN(wavetap_source, file, 8) PIN(wavetap_source, function, 16)
PIN(wavetap_source, line, 24) PIN(wavetap_source, column, 28)

SIZE(wavetap_buffer, 32)
PIN(wavetap_buffer, size, 0) PIN(wavetap_buffer, address, 8) PIN(wavetap_buffer, size_bytes, 16)
PIN(wavetap_buffer, kind, 24)

SIZE(wavetap_host, 72)
PIN(wavetap_host, size, 0) PIN(wavetap_host, version, 8) PIN(wavetap_host, reserved, 12)
PIN(wavetap_host, context, 16) PIN(wavetap_host, refuse, 24) PIN(wavetap_host, result, 32)
PIN(wavetap_host, write, 40) PIN(wavetap_host, lose, 48) PIN(wavetap_host, source, 56)
PIN(wavetap_host, buffer, 64)

SIZE(wavetap_handler, 120)
PIN(wavetap_handler, size, 0) PIN(wavetap_handler, name, 8) PIN(wavetap_handler, wants, 16)
PIN(wavetap_handler, reserved, 20) PIN(wavetap_handler, self, 24)
PIN(wavetap_handler, session_begin, 32) PIN(wavetap_handler, dispatch_begin, 40)
PIN(wavetap_handler, strand_begin, 48) PIN(wavetap_handler, wave, 56)
PIN(wavetap_handler, block, 64) PIN(wavetap_handler, memory, 72) PIN(wavetap_handler, barrier, 80)
PIN(wavetap_handler, message, 88) PIN(wavetap_handler, strand_end, 96)
PIN(wavetap_handler, dispatch_end, 104) PIN(wavetap_handler, sum, 112)
/* clang-format on */
