// Modules: loaded from a file and from memory, kernels by name with packed and with pointer
// arguments, globals by name, unload and load again, and names or files that are not there.
#include <fstream>
#include <iterator>

#include "check.h"

void run(hipModule_t module, const char* how) {
  hipFunction_t scale, reverse;
  WT_HIP(hipModuleGetFunction(&scale, module, "scale"));
  WT_HIP(hipModuleGetFunction(&reverse, module, "reverse_block"));
  int count = 1500;
  std::vector<float> in(count), want(count);
  for (int i = 0; i < count; ++i) in[i] = static_cast<float>(i), want[i] = i * 0.5f * 2;
  check::Buffer<float> device_in(in), out(count);
  float *from = device_in, *to = out, by = 0.5f;
  void* pointers[] = {&from, &to, &by, &count};
  WT_HIP(hipModuleLaunchKernel(scale, check::blocks_for(count, 128), 1, 1, 128, 1, 1, 0, nullptr,
                               pointers, nullptr));
  check::sync();
  check::equal((std::string(how) + ": pointer arguments").c_str(), out.read(), want);

  hipDeviceptr_t factor;
  size_t bytes = 0;
  WT_HIP(hipModuleGetGlobal(&factor, &bytes, module, "g_factor"));
  check::equal("size of a global", bytes, sizeof(int));
  const int seven = 7;
  WT_HIP(hipMemcpyHtoD(factor, const_cast<int*>(&seven), sizeof seven));
  struct {
    const float* in;
    float* out;
    float by;
    int count;
  } packed = {from, to, by, count};
  size_t packed_size = sizeof packed;
  void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                    &packed_size, HIP_LAUNCH_PARAM_END};
  WT_HIP(hipModuleLaunchKernel(scale, check::blocks_for(count, 128), 1, 1, 128, 1, 1, 0, nullptr,
                               nullptr, config));
  check::sync();
  for (int i = 0; i < count; ++i) want[i] = i * 0.5f * 7;
  check::equal("packed arguments and a changed global", out.read(), want);
  WT_HIP(hipModuleGetGlobal(&factor, &bytes, module, "g_launches"));
  int launches = 0;
  WT_HIP(hipMemcpyDtoH(&launches, factor, sizeof launches));
  check::equal("the module's own counter", launches, 2);

  std::vector<int> data(640), want_data(640);
  for (int i = 0; i < 640; ++i) data[i] = i, want_data[i] = i / 64 * 64 + 63 - i % 64;
  check::Buffer<int> device(data);
  int* pointer = device;
  void* arguments[] = {&pointer};
  WT_HIP(hipModuleLaunchKernel(reverse, 10, 1, 1, 64, 1, 1, 64 * sizeof(int), nullptr, arguments,
                               nullptr));
  check::sync();
  check::equal("dynamic LDS of a module's kernel", device.read(), want_data);
  int registers = 0;
  WT_HIP(hipFuncGetAttribute(&registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, scale));
  check::expect(registers > 0, "its kernel uses %d registers", registers);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : std::getenv("WT_MODULE_FILE");
  if (path == nullptr) check::skip("no module file given");
  hipModule_t module;
  WT_HIP(hipModuleLoad(&module, path));
  run(module, "from a file");
  hipFunction_t missing;
  WT_HIP_RETURNS(hipErrorNotFound, hipModuleGetFunction(&missing, module, "no_such_kernel"));
  hipDeviceptr_t global;
  size_t bytes = 0;
  WT_HIP_RETURNS(hipErrorNotFound, hipModuleGetGlobal(&global, &bytes, module, "no_such_global"));
  WT_HIP(hipModuleUnload(module));

  std::ifstream file(path, std::ios::binary);
  const std::vector<char> image((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  WT_HIP(hipModuleLoadData(&module, image.data()));
  run(module, "from memory");
  WT_HIP(hipModuleUnload(module));
  for (int i = 0; i < 10; ++i) {
    WT_HIP(hipModuleLoad(&module, path));
    WT_HIP(hipModuleUnload(module));
  }
  check::expect(true, "ten more loads and unloads");
  return check::finish();
}
