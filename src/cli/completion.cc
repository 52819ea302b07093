// Completion scripts for bash, zsh and fish. Each is a table of the commands, followed by one function that walks
// the words typed so far. What there is to choose from only when the user types (GPU models, recorded processes) is
// asked of wavetap itself.
#include "cli/completion.h"

#include <fmt/format.h>

#include "util/text.h"

namespace wavetap::cli {
namespace {

// "wavetap gpu list".
std::string full_name(const DescribedCommand& command) {
  std::string name = "wavetap";
  for (const std::string& word : command.path) name += " " + word;
  return name;
}

// In single quotes, for all three shells.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

// What to offer, as the scripts' functions read it: a kind, then words.
std::string offered(const DescribedOption& option) {
  switch (option.offer) {
    case Offer::kWords: return "words " + util::join(option.words, " ");
    case Offer::kFiles: return "files";
    case Offer::kFolders: return "folders";
    case Offer::kModels: return "models";
    case Offer::kProcesses: return "processes";
    case Offer::kProgram: return "program";
    case Offer::kNothing: break;
  }
  return "nothing";
}

// The first words of a description: shells show one line.
std::string short_description(const std::string& description) {
  return description.substr(0, description.find_first_of(";:\n"));
}

// ---- bash --------------------------------------------------------------------------------------

constexpr const char* kBash = R"sh(
_wavetap_offer() {  # KIND WORD-SO-FAR [WORD…]
  local kind=$1 cur=$2 prefix=""
  shift 2
  case $kind in
    words) COMPREPLY=($(compgen -W "$*" -- "$cur")) ;;
    files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
    folders) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")) ;;
    models)
      prefix=${cur%"${cur##*,}"}
      COMPREPLY=($(compgen -P "$prefix" -W "$(wavetap gpu list 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "${cur##*,}")) ;;
    processes)
      COMPREPLY=($(compgen -W "$(wavetap status --json 2>/dev/null | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')" -- "$cur")) ;;
  esac
}

_wavetap() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=wavetap word before="" i position=1
  COMPREPLY=()
  # --option=value arrives as three words.
  if [[ $cur == = ]]; then cur=""; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- && -n ${_wavetap_programs[$at]} ]]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1))
      elif ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$cur"))
      else _wavetap_offer files "$cur"; fi
      return
    fi
    if [[ $word == [-=]* || $before == = || -n ${_wavetap_values["$at $before"]} ]]; then :
    elif [[ " ${_wavetap_commands[$at]} " == *" $word "* ]]; then at="$at $word"
    else ((++position)); fi
    before=$word
  done
  if [[ -n ${_wavetap_values["$at $prev"]} ]]; then
    _wavetap_offer ${_wavetap_values["$at $prev"]%% *} "$cur" ${_wavetap_values["$at $prev"]#* }
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "${_wavetap_options[$at]} ${_wavetap_programs[$at]}" -- "$cur"))
  elif [[ -n ${_wavetap_commands[$at]} ]]; then
    COMPREPLY=($(compgen -W "${_wavetap_commands[$at]}" -- "$cur"))
  else
    word=${_wavetap_arguments["$at $position"]:-${_wavetap_arguments["$at last"]}}
    [[ -z $word ]] || _wavetap_offer ${word%% *} "$cur" ${word#* }
  fi
}
complete -F _wavetap wavetap
)sh";

std::string bash_script(const DescribedCommand& program) {
  std::string commands, options, values, arguments, programs;
  const auto entry = [](std::string& table, const std::string& key, const std::string& value) {
    table += fmt::format("  [{}]={}\n", in_quotes(key), in_quotes(value));
  };
  for (const DescribedCommand* command : flatten(program)) {
    const std::string name = full_name(*command);
    std::string below, names;
    for (const DescribedCommand& inner : command->commands)
      below += (below.empty() ? "" : " ") + inner.path.back();
    for (const DescribedOption& option : command->options) {
      for (const std::string& word : option.names) {
        names += (names.empty() ? "" : " ") + word;
        if (!option.value.empty() && !option.value_is_optional)
          entry(values, name + " " + word, offered(option));
      }
    }
    size_t position = 0;
    for (const DescribedOption& argument : command->arguments) {
      if (argument.offer == Offer::kProgram) {
        entry(programs, name, "--");
        continue;
      }
      entry(arguments, fmt::format("{} {}", name, ++position), offered(argument));
    }
    if (position > 0)  // an argument that may be repeated
      entry(arguments, name + " last", offered(command->arguments[position - 1]));
    if (!below.empty()) entry(commands, name, below);
    entry(options, name, names);
  }
  std::string script = "# bash completion for wavetap, made by `wavetap completion bash`\n";
  for (const auto& [name, table] : {std::pair{"commands", commands},
                                    {"options", options},
                                    {"values", values},
                                    {"arguments", arguments},
                                    {"programs", programs}})
    script += fmt::format("declare -gA _wavetap_{}=(\n{})\n", name, table);
  return script + kBash;
}

// ---- zsh ---------------------------------------------------------------------------------------

constexpr const char* kZsh = R"sh(
_wavetap_models() {
  local -a models
  models=(${(f)"$(wavetap gpu list 2>/dev/null | awk 'NR > 1 { print $1 }')"})
  compset -P '*,'
  compadd -S '' -a models
}

_wavetap_processes() {
  local -a processes
  processes=(${(f)"$(wavetap status --json 2>/dev/null | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')"})
  compadd -a processes
}

_wavetap "$@"
)sh";

// A word of an _arguments specification: what would end it is escaped.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const DescribedOption& option) {
  switch (option.offer) {
    case Offer::kWords: return "(" + util::join(option.words, " ") + ")";
    case Offer::kFiles: return "_files";
    case Offer::kFolders: return "_files -/";
    case Offer::kModels: return "_wavetap_models";
    case Offer::kProcesses: return "_wavetap_processes";
    default: return " ";
  }
}

std::string zsh_function(const DescribedCommand& command) {
  return "_" + util::join(util::split(full_name(command), ' '), "_");
}

// The choice between the commands below this one.
std::string zsh_commands(const DescribedCommand& command) {
  std::string names, calls;
  for (const DescribedCommand& below : command.commands) {
    names += fmt::format("        {}\n",
                         in_quotes(below.path.back() + ":" + short_description(below.summary)));
    calls += fmt::format("        {}) {} ;;\n", below.path.back(), zsh_function(below));
  }
  return fmt::format(R"sh( \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      commands=(
{}      )
      _describe command commands ;;
    argument)
      case $line[1] in
{}      esac ;;
  esac)sh",
                     names, calls);
}

std::string zsh_script(const DescribedCommand& program) {
  std::string text =
      "#compdef wavetap\n# zsh completion for wavetap, made by `wavetap completion zsh`\n";
  for (const DescribedCommand* command : flatten(program)) {
    text += fmt::format("\n{}() {{\n", zsh_function(*command));
    if (!command->commands.empty()) text += "  local state line\n  local -a commands\n";
    text += "  _arguments -C";
    const auto add = [&](const std::string& spec) { text += " \\\n    " + in_quotes(spec); };
    for (const DescribedOption& option : command->options) {
      for (const std::string& name : option.names) {
        std::string spec = "*" + name;
        if (!option.value.empty() && name.starts_with("--") && !option.value_is_optional)
          spec += "=";
        spec += "[" + zsh_text(short_description(option.description)) + "]";
        if (!option.value.empty())
          spec += (option.value_is_optional ? "::" : ":") + zsh_text(option.value) + ":" +
                  zsh_action(option);
        add(spec);
      }
    }
    size_t position = 0;
    for (const DescribedOption& argument : command->arguments) {
      const bool is_last = ++position == command->arguments.size();
      if (argument.offer == Offer::kProgram) add("*::program: _normal");
      else
        add(fmt::format("{}:{}:{}", is_last ? "*" : fmt::to_string(position),
                        zsh_text(argument.names[0]), zsh_action(argument)));
    }
    if (!command->commands.empty()) text += zsh_commands(*command);
    text += "\n}\n";
  }
  return text + kZsh;
}

// ---- fish --------------------------------------------------------------------------------------

constexpr const char* kFish = R"sh(
function __wavetap_at --description 'the command typed so far is this one'
    set -l at wavetap
    for word in (commandline -opc)[2..]
        test "$word" = --; and return 1
        if contains -- "$at $word" $__wavetap_commands
            set at "$at $word"
        end
    end
    test "$at" = "$argv"
end

function __wavetap_position --description 'this many arguments stand before the cursor'
    set -l at wavetap
    set -l before ''
    set -l position 0
    for word in (commandline -opc)[2..]
        if contains -- "$at $word" $__wavetap_commands
            set at "$at $word"
        else if not string match -q -- '-*' $word; and not contains -- "$at $before" $__wavetap_values
            set position (math $position + 1)
        end
        set before $word
    end
    test $position $argv
end

function __wavetap_program --description 'the cursor is behind --'
    contains -- -- (commandline -opc)
end

function __wavetap_models
    set -l typed (string match -r '.*,' -- (commandline -ct))
    wavetap gpu list 2>/dev/null | awk -v typed="$typed" 'NR > 1 { print typed $1 }'
end

function __wavetap_processes
    wavetap status --json 2>/dev/null | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p'
end

complete -c wavetap -f
complete -c wavetap -n __wavetap_program -a '(__fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc)))'
)sh";

// The -a, -F or -x part of a `complete` line.
std::string fish_offer(const DescribedOption& option) {
  switch (option.offer) {
    case Offer::kWords: return " -a " + in_quotes(util::join(option.words, " "));
    case Offer::kFiles: return " -F";
    case Offer::kFolders: return " -a '(__fish_complete_directories)'";
    case Offer::kModels: return " -a '(__wavetap_models)'";
    case Offer::kProcesses: return " -a '(__wavetap_processes)'";
    default: return "";
  }
}

std::string fish_script(const DescribedCommand& program) {
  std::string names, values, lines;
  for (const DescribedCommand* command : flatten(program)) {
    const std::string name = full_name(*command);
    const std::string at = "__wavetap_at " + name;
    if (!command->path.empty()) names += " " + in_quotes(name);
    for (const DescribedOption& option : command->options) {
      std::string line = fmt::format("complete -c wavetap -n {}", in_quotes(at));
      for (const std::string& word : option.names) {
        line += word.starts_with("--") ? " -l " + word.substr(2) : " -s " + word.substr(1);
        if (!option.value.empty() && !option.value_is_optional)
          values += " " + in_quotes(name + " " + word);
      }
      if (!option.value.empty() && !option.value_is_optional)
        line += (option.offer == Offer::kFiles ? " -r" : " -x") + fish_offer(option);
      lines += fmt::format("{} -d {}\n", line, in_quotes(short_description(option.description)));
    }
    for (const DescribedCommand& inner : command->commands)
      lines += fmt::format("complete -c wavetap -n {} -a {} -d {}\n", in_quotes(at),
                           inner.path.back(), in_quotes(short_description(inner.summary)));
    for (size_t i = 0; i < command->arguments.size(); ++i) {
      const DescribedOption& argument = command->arguments[i];
      if (argument.offer == Offer::kNothing || argument.offer == Offer::kProgram) continue;
      const bool is_last = i + 1 == command->arguments.size();
      lines += fmt::format("complete -c wavetap -n {}{}\n",
                           in_quotes(fmt::format("{}; and __wavetap_position {} {}", at,
                                                 is_last ? "-ge" : "-eq", i)),
                           fish_offer(argument));
    }
  }
  return fmt::format(
      "# fish completion for wavetap, made by `wavetap completion fish`\n"
      "set -g __wavetap_commands{}\nset -g __wavetap_values{}\n{}{}",
      names, values, kFish, lines);
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> kShells = {"bash", "zsh", "fish"};
  return kShells;
}

std::string completion_script(const DescribedCommand& program, const std::string& shell) {
  if (shell == "zsh") return zsh_script(program);
  return shell == "fish" ? fish_script(program) : bash_script(program);
}

}  // namespace wavetap::cli
