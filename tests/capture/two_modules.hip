// Two modules, each with a kernel `work` that does something else, as compiled code loaded at run time.
// Modules are gone again, and so is their code, when the program ends. With an argument, the second
// kernel's descriptor says that it has no arguments, as that of some libraries' kernels does.
#include <elf.h>
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"

namespace {

// The runtime finds names in the code where the program keeps it.
std::vector<std::vector<char>> images;

// The kernarg size of work's descriptor, in the ELF file.
void forget_arguments(std::vector<char>& image) {
  const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image.data() + elf->e_shoff);
  for (int i = 0; i < elf->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const char* names = image.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(image.data() + sections[i].sh_offset);
    for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; ++j) {
      if (std::strcmp(names + symbols[j].st_name, "work.kd") != 0) continue;
      const Elf64_Shdr& home = sections[symbols[j].st_shndx];
      std::memset(image.data() + home.sh_offset + (symbols[j].st_value - home.sh_addr) + 8, 0, 4);
    }
  }
}

hipModule_t compile(const std::string& expression, bool forget = false) {
  const std::string source =
      "extern \"C\" __global__ void work(int* data) { data[threadIdx.x] = " + expression + "; }";
  hiprtcProgram program;
  hiprtcCreateProgram(&program, source.c_str(), "work.hip", 0, nullptr, nullptr);
  hipDeviceProp_t properties;
  WT_HIP(hipGetDeviceProperties(&properties, 0));
  const std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char* options[] = {arch.c_str(), "-g"};  // captures have the names of its arguments
  if (hiprtcCompileProgram(program, 2, options) != HIPRTC_SUCCESS) {
    std::printf("FAIL hiprtc\n");
    std::exit(1);
  }
  size_t size = 0;
  hiprtcGetCodeSize(program, &size);
  images.emplace_back(size);
  std::vector<char>& code = images.back();
  hiprtcGetCode(program, code.data());
  if (forget) forget_arguments(code);
  hipModule_t module;
  WT_HIP(hipModuleLoadData(&module, code.data()));
  return module;
}

}  // namespace

int main(int count, char**) {
  int* data = nullptr;
  WT_HIP(hipMalloc(&data, 64 * sizeof(int)));
  WT_HIP(hipMemset(data, 0, 64 * sizeof(int)));
  const hipModule_t modules[] = {compile("data[threadIdx.x] + 1000"),
                                 compile("data[threadIdx.x] * 3 + threadIdx.x", count > 1)};
  for (const hipModule_t module : modules) {
    hipFunction_t work;
    WT_HIP(hipModuleGetFunction(&work, module, "work"));
    void* arguments[] = {&data};
    WT_HIP(hipModuleLaunchKernel(work, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  }
  std::vector<int> host(64);
  WT_HIP(hipMemcpy(host.data(), data, 64 * sizeof(int), hipMemcpyDeviceToHost));
  for (const hipModule_t module : modules) WT_HIP(hipModuleUnload(module));
  images.clear();
  std::printf("%d %d\n", host[0], host[63]);
  return host[0] == 3000 && host[63] == 3063 ? 0 : 1;
}
