#!/usr/bin/env python3
"""Checks in the machine code of libwavetap.so that a hook costs next to nothing while recording is stopped.

  check_hooks.py LIBRARY

Every HIP hook (wrapped_*) must be: load the state, compare, branch; load the real function, jump. So there may be no
call, no stack frame, at most LIMIT instructions besides moving arguments that do not fit in registers, and the way out
must be a jump through a register. Hooks that always have to look (hipModuleGetFunction ...) are a single jump. The few
functions that take or return structures in memory are left out: the calling convention makes their callers and us copy.
Hooks with arguments on the stack may save registers on amd64, whose six argument registers are all in use by then.
"""
import re
import subprocess
import sys

LIMIT = 14
CALLS = re.compile(r"^(bl|blr|call)\b")
FRAME = re.compile(r"^(push|pop|stp .*\[sp, #-|sub (sp|\$.*%rsp))")
SAVES = re.compile(r"^(push|pop)\b")
STACK_ARGUMENT = re.compile(r"0x[0-9a-f]+\(%r[sb]p")
ON_STACK = re.compile(r".*(\[sp|\(%rsp\))")
INDIRECT = re.compile(r"^(br\s+x\d+|jmp\s+\*)")


def hooks_of(library):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], check=True, capture_output=True, text=True).stdout
    for block in text.split("\n\n"):
        head = re.match(r"[0-9a-f]+ <(\S*wrapped_\w+)>:", block.strip())
        if head and not re.search("Opaque|hipCreateChannelDesc", head.group(1)):
            lines = [line.split("\t", 1)[1].strip() for line in block.strip().splitlines()[1:] if "\t" in line]
            yield head.group(1), [line for line in lines if not re.match(r"(nop|hint|endbr|data16|xchg\s+%ax)", line)]


def problem_of(instructions):
    if any(STACK_ARGUMENT.search(line) for line in instructions):
        instructions = [line for line in instructions if not SAVES.match(line)]
    for line in instructions:
        plain = re.sub(r"\s+", " ", line)
        if CALLS.match(plain):
            return f"calls: {plain}"
        if FRAME.match(plain):
            return f"makes a stack frame: {plain}"
    if len(instructions) == 1:
        return None
    count = sum(not ON_STACK.match(line) for line in instructions)
    if count > LIMIT:
        return f"{count} instructions"
    if not any(INDIRECT.match(re.sub(r"\s+", " ", line)) for line in instructions):
        return "does not jump to the real function"
    return None


def main():
    hooks = dict(hooks_of(sys.argv[1]))
    if len(hooks) < 350:
        sys.exit(f"{sys.argv[1]}: only {len(hooks)} hooks found")
    problems = {name: problem_of(instructions) for name, instructions in hooks.items()}
    for name, problem in problems.items():
        if problem:
            print(f"{name}: {problem}")
    sys.exit(1 if any(problems.values()) else 0)


if __name__ == "__main__":
    main()
