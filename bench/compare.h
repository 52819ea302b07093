// What both hosts of kernels.inc share: sizes, inputs, the check of the results, the timing rule.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMatmulSize = 512, kStreamSize = 1 << 24, kRepetitions = 3 };

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Whether to measure once more. What compiles hot code while it runs is measured with that code, also where many
// cores are done with three repetitions before it is there; PoCL compiles beforehand.
static inline int goes_on(int repetitions, double began) {
  const double kLeastSeconds = 1;
  return repetitions < kRepetitions || seconds_now() - began < kLeastSeconds;
}

// Small integers: every product and sum is exact, so results are compared bit by bit.
static inline float matmul_input(int i, int salt) { return (float)((i * 7 + salt) % 13 - 6); }

// Compares a sample of c with products computed here. Returns the number of wrong elements.
static inline int check_matmul(const float* a, const float* b, const float* c) {
  int wrong = 0;
  for (int sample = 0; sample < 4096; ++sample) {
    const int row = (sample * 37) % kMatmulSize;
    const int column = (sample * 101 + sample / 64) % kMatmulSize;
    float sum = 0;
    for (int k = 0; k < kMatmulSize; ++k)
      sum += a[row * kMatmulSize + k] * b[k * kMatmulSize + column];
    wrong += c[row * kMatmulSize + column] != sum;
  }
  return wrong;
}

// STREAM's kernels, in its order; names as in kernels.inc.
enum { kStreamCopy, kStreamScale, kStreamAdd, kStreamTriad, kStreamKernels };
static const char* const kStreamNames[kStreamKernels] = {"stream_copy", "stream_scale",
                                                         "stream_add", "stream_triad"};
static const float kStreamScalar = 3.0f;

// b[i] is stream_input(i), c[i] is stream_input(i + 1).
static inline float stream_input(int i) { return (float)(i % 1024); }

static inline int check_stream(int kernel, const float* a) {
  int wrong = 0;
  for (int i = 0; i < kStreamSize; ++i) {
    const float scale_b = kernel == kStreamScale ? kStreamScalar : 1;
    const float scale_c = kernel == kStreamAdd ? 1 : kernel == kStreamTriad ? kStreamScalar : 0;
    wrong += a[i] != scale_b * stream_input(i) + scale_c * stream_input(i + 1);
  }
  return wrong;
}

static inline void report(const char* name, double best_seconds, int wrong) {
  if (wrong != 0) {
    fprintf(stderr, "%s: %d wrong results\n", name, wrong);
    exit(1);
  }
  printf("%s %.6f\n", name, best_seconds);
  fflush(stdout);
}
