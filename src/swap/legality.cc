#include "swap/legality.h"

#include <algorithm>

#include "base/result.h"

namespace wavetap::swap {
namespace {

// "xnack" of "gfx90a:sramecc+:xnack-" is '-'; 0: the code runs either way.
char feature(std::string_view target_id, std::string_view name) {
  for (size_t at = target_id.find(':'); at != std::string_view::npos;) {
    target_id.remove_prefix(at + 1);
    at = target_id.find(':');
    const std::string_view word = target_id.substr(0, at);
    if (word.size() == name.size() + 1 && word.starts_with(name)) return word.back();
  }
  return 0;
}

std::string text_of(const Argument& argument) {
  return errorf("%s, %llu bytes at %llu", argument.kind.c_str(),
                static_cast<unsigned long long>(argument.bytes),
                static_cast<unsigned long long>(argument.offset))
      .message;
}

std::vector<Argument> visible(const KernelInfo& kernel) {
  std::vector<Argument> arguments = kernel.arguments;
  std::erase_if(arguments, [](const Argument& argument) { return argument.is_hidden(); });
  return arguments;
}

Verdict refuse(Reason reason, Error why) { return {reason, std::move(why.message)}; }

Verdict check_target(const KernelInfo& original, const KernelInfo& replacement, uint8_t allowed) {
  if (original.target != replacement.target)
    return refuse(Reason::kTarget, errorf("it is code for %s, and the kernel's is for %s",
                                          amd::to_string(replacement.target).c_str(),
                                          amd::to_string(original.target).c_str()));
  for (const char* const name : {"xnack", "sramecc"}) {
    const char theirs = feature(original.target_id, name);
    const char ours = feature(replacement.target_id, name);
    if (theirs != 0 && ours != 0 && theirs != ours)
      return refuse(Reason::kFeatures,
                    errorf("it is compiled for %s, and the kernel for %s",
                           replacement.target_id.c_str(), original.target_id.c_str()));
  }
  if (original.wave_size != replacement.wave_size && (allowed & kAllowOtherWaveSize) == 0)
    return refuse(Reason::kWaveSize, errorf("it runs in waves of %u lanes, and the kernel in waves "
                                            "of %u; what the program computes may depend on it",
                                            replacement.wave_size, original.wave_size));
  return {};
}

// A build that uses fewer hidden arguments finds all it needs.
Verdict check_arguments(const KernelInfo& original, const KernelInfo& replacement) {
  const std::vector<Argument> theirs = visible(original);
  const std::vector<Argument> ours = visible(replacement);
  const size_t common = std::min(theirs.size(), ours.size());
  for (size_t i = 0; i < common; ++i) {
    if (theirs[i] == ours[i]) continue;
    return refuse(Reason::kArguments,
                  errorf("argument %zu of the kernel is %s, and of the replacement %s", i,
                         text_of(theirs[i]).c_str(), text_of(ours[i]).c_str()));
  }
  if (theirs.size() != ours.size())
    return refuse(Reason::kArguments, errorf("the kernel takes %zu arguments, and it takes %zu",
                                             theirs.size(), ours.size()));
  for (const Argument& argument : replacement.arguments) {
    if (!argument.is_hidden() || std::find(original.arguments.begin(), original.arguments.end(),
                                           argument) != original.arguments.end())
      continue;
    return refuse(
        Reason::kHidden,
        errorf("it needs %s, which the runtime does not put there for the kernel; compile "
               "it for the same code object version, or so that it does not need it",
               text_of(argument).c_str()));
  }
  return {};
}

// What a number in that buffer means is in the metadata, of which the runtime has the original's.
Verdict check_printing(const KernelInfo& original, const KernelInfo& replacement) {
  if (original.hash == replacement.hash) return {};
  for (const Argument& argument : replacement.arguments)
    if (argument.kind == "hidden_printf_buffer")
      return refuse(Reason::kHidden,
                    errorf("it prints into a buffer, and the runtime knows the texts of the "
                           "original only; compile it with -mprintf-kind=hostcall, or without "
                           "printf"));
  return {};
}

const std::string* shared_variable(const KernelInfo& original, const KernelInfo& replacement) {
  for (const std::string& name : replacement.variables)
    if (std::binary_search(original.object_variables.begin(), original.object_variables.end(),
                           name))
      return &name;
  return nullptr;
}

}  // namespace

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kNone: return "legal";
    case Reason::kNoMetadata: return "no-metadata";
    case Reason::kTarget: return "target";
    case Reason::kFeatures: return "features";
    case Reason::kWaveSize: return "wave-size";
    case Reason::kArguments: return "arguments";
    case Reason::kHidden: return "hidden-arguments";
    case Reason::kStack: return "stack";
    case Reason::kVariables: return "variables";
    case Reason::kHash: return "hash";
    case Reason::kMissing: return "missing";
    case Reason::kDamaged: return "damaged";
    case Reason::kChanged: return "changed";
    case Reason::kRefused: return "not-loaded";
    case Reason::kWorkgroup: return "workgroup";
    case Reason::kLds: return "lds";
    case Reason::kKernels: return "kernels";
    case Reason::kScratch: return "scratch";
  }
  return "?";
}

Verdict check(const KernelInfo& original, const KernelInfo& replacement, uint8_t allowed,
              uint64_t original_hash) {
  if (Verdict verdict = check_target(original, replacement, allowed); !verdict.is_legal())
    return verdict;
  if (!original.has_metadata || !replacement.has_metadata)
    return refuse(Reason::kNoMetadata,
                  errorf("%s carries no metadata that says where its arguments "
                         "are",
                         original.has_metadata ? "it" : "the kernel"));
  if (original_hash != 0 && original_hash != original.hash)
    return refuse(Reason::kHash, errorf("it is meant for code %016llx, and the kernel's is %016llx",
                                        static_cast<unsigned long long>(original_hash),
                                        static_cast<unsigned long long>(original.hash)));
  if (Verdict verdict = check_arguments(original, replacement); !verdict.is_legal()) return verdict;
  if (Verdict verdict = check_printing(original, replacement); !verdict.is_legal()) return verdict;
  if (replacement.uses_dynamic_stack && !original.uses_dynamic_stack)
    return refuse(Reason::kStack,
                  errorf("it needs a stack whose size is chosen at run time, and the "
                         "program asks for none; compile it without recursion and "
                         "calls through pointers"));
  if (const std::string* name = shared_variable(original, replacement);
      name != nullptr && (allowed & kAllowOwnVariables) == 0)
    return refuse(
        Reason::kVariables,
        errorf("it uses a device variable %s of its own, so that it would not see what is "
               "stored in the program's; permit it with variables=own in a manifest",
               name->c_str()));
  return {};
}

LaunchRules launch_rules(const KernelInfo& original, const KernelInfo& replacement,
                         uint32_t lds_limit) {
  LaunchRules rules{.original_lds = original.lds_bytes,
                    .lds = replacement.lds_bytes,
                    .original_scratch = original.scratch_bytes,
                    .scratch = replacement.scratch_bytes,
                    .max_workgroup = replacement.max_workgroup,
                    .lds_limit = lds_limit};
  std::copy(std::begin(replacement.required_workgroup), std::end(replacement.required_workgroup),
            std::begin(rules.required_workgroup));
  return rules;
}

std::string describe_launch(const LaunchRules& rules, const uint16_t (&workgroup)[3],
                            uint32_t lds) {
  if (check_launch(rules, workgroup, lds) == Reason::kLds)
    return errorf("a launch needs %u bytes of LDS with it, and the GPU has %u", lds_for(rules, lds),
                  rules.lds_limit)
        .message;
  if (rules.required_workgroup[0] != 0)
    return errorf("a launch has workgroups of %u,%u,%u, and it requires %u,%u,%u", workgroup[0],
                  workgroup[1], workgroup[2], rules.required_workgroup[0],
                  rules.required_workgroup[1], rules.required_workgroup[2])
        .message;
  return errorf("a launch has workgroups of %u,%u,%u, and it takes at most %u lanes", workgroup[0],
                workgroup[1], workgroup[2], rules.max_workgroup)
      .message;
}

}  // namespace wavetap::swap
