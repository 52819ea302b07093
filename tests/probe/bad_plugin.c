/* Handlers that wavetap must refuse, each for one reason; BAD_... says which. */
#include <wavetap/handler.h>

#if defined(BAD_newer_version)
WAVETAP_EXPORT const uint32_t wavetap_handler_version = WAVETAP_HANDLER_VERSION + 1;
#elif !defined(BAD_no_version)
WAVETAP_EXPORT const uint32_t wavetap_handler_version = WAVETAP_HANDLER_VERSION;
#endif

static void on_memory(void* strand, const wavetap_memory* event) {
  (void)strand;
  (void)event;
}

static wavetap_handler handler = {
#if defined(BAD_wrong_size)
    .size = sizeof(wavetap_handler) - 16,
#else
    .size = sizeof(wavetap_handler),
#endif
    .name = "bad",
#if defined(BAD_unknown_wants)
    .wants = WAVETAP_MEMORY | 1u << 30,
#elif defined(BAD_no_function)
    .wants = WAVETAP_BLOCKS,
#else
    .wants = WAVETAP_MEMORY,
#endif
    .memory = on_memory,
};

#if !defined(BAD_no_open)
const wavetap_handler* wavetap_handler_open(const wavetap_host* host, const char* arguments) {
  (void)arguments;
#if defined(BAD_refuses)
  (void)handler;
  host->refuse(host->context, "the moon is full");
  return NULL;
#else
  (void)host;
  return &handler;
#endif
}
#else
const wavetap_handler* unused(void) { return &handler; }
#endif
