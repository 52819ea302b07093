/* wavetap/device.h: what device code can tell `wavetap probe --pass` and `--real` by itself.
 *
 *   #include <wavetap/device.h>
 *
 *   __global__ void solve(...) {
 *     ...
 *     wavetap_message(1, iterations);
 *   }
 *
 * Handlers get a message event for each value that the lanes of a wave have. In a program that was not
 * compiled with wavetap-hipcc, and in a run that is not probed, it does nothing but work out its arguments.
 *
 * Other languages declare a function of that name, void (i32, i32), and call it: the pass knows it by name
 * and takes the calls out.
 */
#ifndef WAVETAP_DEVICE_H
#define WAVETAP_DEVICE_H

#if defined(__AMDGCN__)
/* A comment in the machine code, which the pass knows; an instruction before and behind it stays there. */
static inline __attribute__((device, always_inline)) void wavetap_message(unsigned kind,
                                                                          unsigned value) {
  __asm__ volatile("; wavetap_message %0 %1" : : "v"(kind), "v"(value));
}
#elif defined(__HIP__) || defined(__CUDA__)
static inline __attribute__((device, always_inline)) void wavetap_message(unsigned kind,
                                                                          unsigned value) {
  (void)kind;
  (void)value;
}
#endif

#endif /* WAVETAP_DEVICE_H */
