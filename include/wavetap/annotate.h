/* wavetap/annotate.h: for allocators that take large pieces of GPU memory and cut them into blocks of their own.
 * Under `wavetap sanitize` each block then has bounds of its own: an access that goes past a block into the next
 * one, or into one that was given back, is found. Without wavetap these functions do nothing.
 *
 *   hipMalloc(&slab, 1 << 20);
 *   wavetap_annotate_pool(slab, 1 << 20);        nothing in it may be used now
 *   wavetap_annotate_block(slab + 256, 100);     ... but these 100 bytes
 *   wavetap_annotate_block_end(slab + 256);      ... and now not any more
 *   wavetap_annotate_pool_end(slab);             an ordinary allocation again; before hipFree
 *   hipFree(slab);
 *
 * Header only; nothing is linked. Addresses are those the GPU uses. Any thread may call.
 */
#ifndef WAVETAP_ANNOTATE_H
#define WAVETAP_ANNOTATE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum wavetap_annotation {
  WAVETAP_POOL = 1,
  WAVETAP_POOL_END = 2,
  WAVETAP_BLOCK = 3,
  WAVETAP_BLOCK_END = 4
};

/* 1: somebody listens. */
static inline int wavetap_annotate(enum wavetap_annotation what, const void* address,
                                   size_t bytes) {
  typedef void (*function)(int what, const void* address, size_t bytes);
  /* Every thread finds the same one. */
  static function listener = 0;
  static int is_known = 0;
  if (!__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) {
    void* found = dlsym(RTLD_DEFAULT, "wavetap_annotate_v1");
    __atomic_store_n(&listener, (function)found, __ATOMIC_RELAXED);
    __atomic_store_n(&is_known, 1, __ATOMIC_RELEASE);
  }
  if (listener == 0) return 0;
  listener((int)what, address, bytes);
  return 1;
}

static inline int wavetap_annotate_pool(const void* begin, size_t bytes) {
  return wavetap_annotate(WAVETAP_POOL, begin, bytes);
}
static inline int wavetap_annotate_pool_end(const void* begin) {
  return wavetap_annotate(WAVETAP_POOL_END, begin, 0);
}
static inline int wavetap_annotate_block(const void* begin, size_t bytes) {
  return wavetap_annotate(WAVETAP_BLOCK, begin, bytes);
}
static inline int wavetap_annotate_block_end(const void* begin) {
  return wavetap_annotate(WAVETAP_BLOCK_END, begin, 0);
}

#ifdef __cplusplus
}
#endif

#endif
