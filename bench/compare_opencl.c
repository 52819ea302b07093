// kernels.inc through OpenCL, on the first CPU device. Same sizes, inputs, checks and output as
// compare.hip. The kernel source is read from the path on the command line.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "compare.h"

static void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "compare_opencl: %s: status %d\n", what, status);
  exit(1);
}

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    fprintf(stderr, "compare_opencl: %s: cannot open\n", path);
    exit(1);
  }
  char* text = calloc(1, 1 << 16);
  if (text == NULL || fread(text, 1, (1 << 16) - 1, file) == 0) exit(1);
  fclose(file);
  return text;
}

static cl_device_id find_cpu(void) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < count; ++i) {
    cl_device_id device;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) == CL_SUCCESS) return device;
  }
  fprintf(stderr, "compare_opencl: no CPU device; install pocl-opencl-icd\n");
  exit(1);
}

static cl_context g_context;
static cl_command_queue g_queue;

static cl_mem to_device(const float* host, size_t count) {
  cl_int status;
  cl_mem memory = clCreateBuffer(g_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof(float),
                                 (void*)host, &status);
  check(status, "clCreateBuffer");
  return memory;
}

static double best_of(cl_kernel kernel, cl_uint dimensions, const size_t* grid, const size_t* group) {
  double best = 1e30;
  const double began = seconds_now();
  for (int i = 0; goes_on(i, began); ++i) {
    const double start = seconds_now();
    check(clEnqueueNDRangeKernel(g_queue, kernel, dimensions, NULL, grid, group, 0, NULL, NULL), "enqueue");
    check(clFinish(g_queue), "clFinish");
    const double seconds = seconds_now() - start;
    if (seconds < best) best = seconds;
  }
  return best;
}

static void bench_matmul(cl_program program) {
  const int count = kMatmulSize * kMatmulSize;
  float* a = malloc(count * sizeof(float));
  float* b = malloc(count * sizeof(float));
  float* c = calloc(count, sizeof(float));
  for (int i = 0; i < count; ++i) a[i] = matmul_input(i, 1), b[i] = matmul_input(i, 5);
  cl_int status;
  cl_kernel kernel = clCreateKernel(program, "matmul", &status);
  check(status, "clCreateKernel");
  cl_mem da = to_device(a, count), db = to_device(b, count), dc = to_device(c, count);
  const int n = kMatmulSize;
  check(clSetKernelArg(kernel, 0, sizeof da, &da) | clSetKernelArg(kernel, 1, sizeof db, &db) |
            clSetKernelArg(kernel, 2, sizeof dc, &dc) | clSetKernelArg(kernel, 3, sizeof n, &n),
        "clSetKernelArg");
  const size_t grid[2] = {kMatmulSize, kMatmulSize};
  const size_t group[2] = {16, 16};
  const double seconds = best_of(kernel, 2, grid, group);
  check(clEnqueueReadBuffer(g_queue, dc, CL_TRUE, 0, count * sizeof(float), c, 0, NULL, NULL), "read");
  report("matmul", seconds, check_matmul(a, b, c));
  free(a);
  free(b);
  free(c);
}

static void bench_stream(cl_program program) {
  float* a = calloc(kStreamSize, sizeof(float));
  float* b = malloc(kStreamSize * sizeof(float));
  float* c = malloc(kStreamSize * sizeof(float));
  for (int i = 0; i < kStreamSize; ++i) b[i] = stream_input(i), c[i] = stream_input(i + 1);
  cl_mem da = to_device(a, kStreamSize), db = to_device(b, kStreamSize), dc = to_device(c, kStreamSize);
  for (int k = 0; k < kStreamKernels; ++k) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, kStreamNames[k], &status);
    check(status, "clCreateKernel");
    check(clSetKernelArg(kernel, 0, sizeof da, &da) | clSetKernelArg(kernel, 1, sizeof db, &db) |
              clSetKernelArg(kernel, 2, sizeof dc, &dc) | clSetKernelArg(kernel, 3, sizeof kStreamScalar, &kStreamScalar),
          "clSetKernelArg");
    const size_t grid = kStreamSize;
    const size_t group = 256;
    const double seconds = best_of(kernel, 1, &grid, &group);
    check(clEnqueueReadBuffer(g_queue, da, CL_TRUE, 0, kStreamSize * sizeof(float), a, 0, NULL, NULL), "read");
    report(kStreamNames[k], seconds, check_stream(k, a));
  }
  free(a);
  free(b);
  free(c);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: compare_opencl KERNELS\n");
    return 1;
  }
  cl_device_id device = find_cpu();
  cl_int status;
  g_context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  g_queue = clCreateCommandQueue(g_context, device, 0, &status);
  check(status, "clCreateCommandQueue");
  const char* source = read_text(argv[1]);
  cl_program program = clCreateProgramWithSource(g_context, 1, &source, NULL, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
  bench_matmul(program);
  bench_stream(program);
  return 0;
}
