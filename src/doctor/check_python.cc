// Group 11: the Python stack, read from the files of the packages. No Python is started.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/elf_facts.h"
#include "doctor/finding.h"
#include "doctor/isa_families.h"
#include "doctor/machine.h"
#include "doctor/rocm_libraries.h"
#include "util/text.h"

namespace wavetap::doctor {
namespace {

// NAME = 'VALUE' of a version.py, annotations allowed: `hip: Optional[str] = '6.2.41133'`.
std::string python_assignment(const std::string& text, const std::string& name) {
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with(name)) continue;
    const size_t equals = line.find('=');
    const size_t open = line.find_first_of("'\"", equals == std::string::npos ? 0 : equals);
    if (equals == std::string::npos || open == std::string::npos) continue;
    const size_t close = line.find(line[open], open + 1);
    if (close != std::string::npos) return line.substr(open + 1, close - open - 1);
  }
  return "";
}

// "2.1.0" of PACKAGE-2.1.0.dist-info.
std::string package_version(const Root& root, const std::string& site, const std::string& package) {
  for (const std::string& name : root.list(site)) {
    if (!name.starts_with(package + "-") || !name.ends_with(".dist-info")) continue;
    return name.substr(package.size() + 1, name.size() - package.size() - 1 - 10);
  }
  return "";
}

void check_bundled(const Machine& machine, const std::string& torch, const std::string& hip_version,
                   Findings& findings) {
  const std::vector<FoundLibrary> bundled =
      libraries_in(machine.root, torch + "/lib", followed_stems());
  const auto hip = std::find_if(bundled.begin(), bundled.end(),
                                [](const FoundLibrary& l) { return l.stem == "libamdhip64"; });
  if (hip == bundled.end()) return;
  Finding& finding = findings.note("python.bundled", "torch brings its own ROCm libraries");
  for (const FoundLibrary& library : bundled) {
    finding.saw(library.path,
                fmt::format("{}{}", library.elf.soname,
                            library.elf.build_id.empty()
                                ? ""
                                : ", build-id " + library.elf.build_id.substr(0, 12)));
  }
  finding.because(
      fmt::format("It uses HIP {} from the wheel, not the system's. Tools that look for the "
                  "system's libamdhip64 see nothing, and a shim found through RTLD_NEXT gets no "
                  "function, because the wheel's copy is loaded privately.",
                  hip_version.empty() ? "of its own" : hip_version));
  if (const std::string* path = machine.variable("LD_LIBRARY_PATH")) {
    for (const std::string& folder : util::split(*path, ':')) {
      for (const FoundLibrary& library :
           libraries_in(machine.root, folder, {"libamdhip64", "libhsa-runtime64"})) {
        const auto own = std::find_if(bundled.begin(), bundled.end(), [&](const FoundLibrary& l) {
          return l.stem == library.stem;
        });
        if (own == bundled.end() || own->elf.build_id == library.elf.build_id) continue;
        findings
            .error("python.mixed",
                   fmt::format("LD_LIBRARY_PATH puts another {} in front of torch's", library.stem))
            .saw(own->path, own->elf.soname)
            .saw(library.path, library.elf.soname)
            .saw("environment", "LD_LIBRARY_PATH=" + *path)
            .because(
                "LD_LIBRARY_PATH wins over the wheel's RUNPATH, so torch meets a runtime it was "
                "not built for: missing symbols, or two runtimes in one process.")
            .unset("LD_LIBRARY_PATH");
      }
    }
  }
}

// torch's own kernels: each is built for the same list of targets.
void check_torch_kernels(const Machine& machine, const std::string& torch, Findings& findings) {
  const std::string library = torch + "/lib/libtorch_hip.so";
  if (!machine.root.exists(library)) return;
  const std::vector<std::string> targets = fat_binary_targets(machine.root, library);
  if (targets.empty()) {
    findings.unknown("python.torch-targets", "which GPUs torch has kernels for cannot be read")
        .saw(library, "no readable .hip_fatbin");
    return;
  }
  const auto has = [&](const std::optional<amd::GfxTarget>& target) {
    return target &&
           std::find(targets.begin(), targets.end(), amd::to_string(*target)) != targets.end();
  };
  for (const Gpu& gpu : machine.gpus) {
    const std::optional<Override> override_ = override_for(machine, gpu);
    const std::optional<amd::GfxTarget> loaded = override_ ? override_->target : gpu.target;
    if (!loaded) continue;
    if (has(loaded)) {
      findings.ok("python.torch-targets", "torch has kernels for " + amd::to_string(*loaded))
          .saw(library, util::join(targets, " "));
      continue;
    }
    Finding& missing =
        findings
            .error("python.torch-targets", "torch has no kernels for " + amd::to_string(*loaded))
            .saw(library, util::join(targets, " "))
            .saw(gpu.properties_path, gpu.target_name())
            .because(
                "Its first kernel stops with \"invalid device function\" "
                "(hipErrorNoBinaryForGpu).");
    const std::string instead = judge_override(*gpu.target, *gpu.target).instead;
    if (has(parse_override(instead))) missing.set("HSA_OVERRIDE_GFX_VERSION", instead);
    else missing.advise("install a build of torch that carries " + gpu.target_name());
  }
}

// "Tag: cp310-cp310-linux_x86_64" in a folder of python3.12.
void check_wheel_tag(const Machine& machine, const std::string& site, const std::string& version,
                     Findings& findings) {
  const std::string path = site + "/torch-" + version + ".dist-info/WHEEL";
  const ReadText text = machine.root.read(path);
  const std::string python = base_name(site.substr(0, site.rfind('/')));  // "python3.12"
  if (!text.ok() || !python.starts_with("python3.")) return;
  const std::string wanted = "Tag: cp3" + python.substr(8) + "-";
  std::string tag;
  for (const std::string& line : lines_of(*text.text)) {
    if (!line.starts_with("Tag: cp3")) continue;
    if (line.starts_with(wanted)) return;
    tag = line.substr(5);
  }
  if (tag.empty()) return;
  findings
      .error("python.wheel-tag",
             fmt::format("torch {} is built for another Python than {}", version, python))
      .saw(path, tag)
      .because("Its extension modules do not load: import torch fails, or finds no torch._C.")
      .run("pip install --force-reinstall torch   # with the interpreter that is to use it");
}

void check_torch(const Machine& machine, const std::string& site, Findings& findings) {
  const std::string torch = site + "/torch";
  const ReadText text = machine.root.read(torch + "/version.py");
  if (!text.ok()) return;
  const std::string version = python_assignment(*text.text, "__version__");
  const std::string hip = python_assignment(*text.text, "hip");
  const std::string cuda = python_assignment(*text.text, "cuda");
  if (hip.empty() && !machine.gpus.empty()) {
    findings
        .error("python.torch-build",
               fmt::format("torch {} is a {} build", version, cuda.empty() ? "CPU" : "CUDA"))
        .saw(torch + "/version.py", cuda.empty() ? "hip and cuda are None" : "cuda " + cuda)
        .because(
            "torch.cuda.is_available() is False on an AMD GPU, and programs silently use the CPU.")
        .run("pip install torch --index-url https://download.pytorch.org/whl/rocm6.3",
             "pip install torch==" + version.substr(0, version.find('+')));
  } else {
    findings
        .ok("python.torch",
            fmt::format("torch {}{}", version, hip.empty() ? "" : " for HIP " + hip))
        .saw(torch + "/version.py", version);
  }
  const std::string numpy = package_version(machine.root, site, "numpy");
  if (!numpy.empty() && !version.empty() && numpy[0] >= '2' && version[0] < '2') {
    findings.error("python.numpy", fmt::format("numpy {} does not fit torch {}", numpy, version))
        .saw(site, "numpy-" + numpy + ".dist-info")
        .saw(torch + "/version.py", version)
        .because(
            "torch before 2 was built against numpy 1; conversions fail with \"Numpy is not "
            "available\".")
        .run("pip install 'numpy<2'", "pip install numpy==" + numpy);
  }
  check_wheel_tag(machine, site, version, findings);
  if (hip.empty()) return;
  check_torch_kernels(machine, torch, findings);
  check_bundled(machine, torch, hip, findings);
  const bool has_triton = !package_version(machine.root, site, "triton").empty() ||
                          !package_version(machine.root, site, "pytorch_triton_rocm").empty();
  if (!has_triton && version[0] >= '2') {
    findings.note("python.triton", "torch has no Triton beside it")
        .saw(site, "no triton-*.dist-info, no pytorch_triton_rocm-*.dist-info")
        .because(
            "torch.compile() cannot make kernels for the GPU and stops, or runs the model as it "
            "is.")
        .run("pip install pytorch-triton-rocm --index-url https://download.pytorch.org/whl/rocm6.3",
             "pip uninstall pytorch-triton-rocm");
  }
}

}  // namespace

void check_python(const Machine& machine, Findings& findings) {
  const std::vector<std::string> sites = find_site_packages(machine);
  const size_t mark = findings.all().size();
  for (const std::string& site : sites) check_torch(machine, site, findings);
  if (findings.all().size() == mark) {
    findings.ok("python", sites.empty() ? "no Python packages" : "no torch installed")
        .saw("site-packages", util::count_of(sites.size(), "folder"));
  }
}

}  // namespace wavetap::doctor
