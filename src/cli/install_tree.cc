#include "cli/install_tree.h"

#include <unistd.h>

#include "cli/command.h"
#include "jit/object_cache.h"
#include "util/file.h"
#include "util/text.h"

namespace wavetap::cli {
namespace {

std::string root() {
  const std::string bin = util::executable_folder();
  return bin.substr(0, bin.rfind('/'));
}

Result<std::string> library(const char* name) {
  std::string path = root() + "/lib/" + name;
  if (access(path.c_str(), R_OK) == 0) return path;
  return errorf("%s: not found; build it (make) or reinstall wavetap", path.c_str());
}

}  // namespace

std::string models_folder() { return root() + "/share/wavetap/models"; }

Result<std::string> gpu_library() { return library("libwavetap_gpu.so"); }
Result<std::string> library_for_jit(const std::string& mode) {
  if (mode == "off") return std::string();
  return library("libwavetap_jit.so");
}
std::string jit_cache_folder(const std::string& mode) {
  if (mode != "on") return "";  // what is verified is compiled anew
  constexpr char kAdvice[] =
      "the next run compiles it again; set XDG_CACHE_HOME to a folder of yours";
  const std::string parent = util::cache_folder();
  if (parent.empty()) {
    warn(errorf("$HOME: not set, so that compiled code is not kept and %s", kAdvice));
    return "";
  }
  const std::string folder = parent + "/jit";
  const std::string refusal = jit::ObjectCache::refusal(folder);
  if (!refusal.empty())
    warn(errorf("%s: compiled code is not kept (%s), so that %s",
                util::escape_control(folder).c_str(), refusal.c_str(), kAdvice));
  return folder;  // what was kept there before may still be read
}
std::string compile_cache_folder() {
  const std::string folder = util::cache_folder();
  return folder.empty() ? "" : folder + "/comgr";
}
Result<std::string> agent_library() { return library("libwavetap.so"); }

Result<std::string> correct_library() { return library("libwavetap_correct.so"); }
Result<std::string> audit_library() { return library("libwavetap_audit.so"); }

Result<std::string> roctx_folder() {
  Result<std::string> found = library("wavetap/roctx/libroctx64.so.4");
  if (found.ok()) found->resize(found->rfind('/'));
  return found;
}

Result<std::string> trial_program() {
  std::string path = root() + "/bin/wavetap-trial";
  if (access(path.c_str(), X_OK) == 0) return path;
  return errorf("%s: not found; build it (make) or reinstall wavetap", path.c_str());
}

Result<model::Model> find_model(const std::string& name) {
  const std::string folder = models_folder();
  if (name.find('/') != std::string::npos) return model::load_model(folder, name);
  const std::vector<std::string> known = model::list_models(folder);
  for (const std::string& candidate : known) {
    if (candidate == name) return model::load_model(folder, name);
  }
  if (known.empty()) {
    return errorf(
        "%s: holds no GPU models; reinstall wavetap or give --gpu the path of a model file",
        folder.c_str());
  }
  const std::string shown = util::escape_control(name);
  const std::string near = util::nearest_name(name, known);
  if (!near.empty()) {
    return errorf("%s: no such GPU model; did you mean %s? (known: %s)", shown.c_str(),
                  near.c_str(), util::join(known, ", ").c_str());
  }
  return errorf("%s: no such GPU model; use one of %s, or the path of a model file", shown.c_str(),
                util::join(known, ", ").c_str());
}

}  // namespace wavetap::cli
