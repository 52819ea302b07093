// The printf trial: the compiler turns printf into calls of HIP's own device library, hence a file of its own. HIP's
// headers would declare no more of it, and take six times as long.
extern "C" __attribute__((device)) int printf(const char*, ...);

extern "C" __attribute__((global)) void say() { printf("wavetap-trial: a kernel says hello\n"); }
