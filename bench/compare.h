// What both hosts of kernels.inc share: sizes, inputs, the check of the results, the timing rule.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMatmulSize = 512, kTriadSize = 1 << 24, kRepetitions = 3 };

static inline double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
    for (int k = 0; k < kMatmulSize; ++k) sum += a[row * kMatmulSize + k] * b[k * kMatmulSize + column];
    wrong += c[row * kMatmulSize + column] != sum;
  }
  return wrong;
}

static inline float triad_input(int i) { return (float)(i % 1024); }

static inline int check_triad(const float* a) {
  int wrong = 0;
  for (int i = 0; i < kTriadSize; ++i) wrong += a[i] != triad_input(i) + 3.0f * triad_input(i + 1);
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
