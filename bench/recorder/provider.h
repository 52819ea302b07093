// The events calls.cc writes when it is the LTTng-UST reference: the fields of a call record. (The
// shape of this file, included several times by LTTng's headers, is LTTng's.)
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER wavetap_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(WT_BENCH_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WT_BENCH_PROVIDER_H
#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    wavetap_bench, call,
    LTTNG_UST_TP_ARGS(uint64_t, start, uint32_t, duration, int32_t, result, uint16_t, function,
                      uint32_t, call),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, start, start)
                            lttng_ust_field_integer(uint32_t, duration, duration)
                                lttng_ust_field_integer(int32_t, result, result)
                                    lttng_ust_field_integer(uint16_t, function, function)
                                        lttng_ust_field_integer(uint32_t, call, call)))

LTTNG_UST_TRACEPOINT_EVENT(
    wavetap_bench, call_with_arguments,
    LTTNG_UST_TP_ARGS(uint64_t, start, uint32_t, duration, int32_t, result, uint16_t, function,
                      uint32_t, call, uint64_t, address, uint64_t, count, uint64_t, advice,
                      uint64_t, device),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, start, start) lttng_ust_field_integer(
        uint32_t, duration, duration) lttng_ust_field_integer(int32_t, result, result)
                            lttng_ust_field_integer(uint16_t, function, function)
                                lttng_ust_field_integer(uint32_t, call, call)
                                    lttng_ust_field_integer_hex(uint64_t, address, address)
                                        lttng_ust_field_integer(uint64_t, count, count)
                                            lttng_ust_field_integer(uint64_t, advice, advice)
                                                lttng_ust_field_integer(uint64_t, device, device)))

#endif

#include <lttng/tracepoint-event.h>
