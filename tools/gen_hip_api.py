#!/usr/bin/env python3
"""Writes the table of HIP and hipRTC functions that libwavetap.so stands in front of.

  gen_hip_api.py ROOT... [--clang CLANG]   write src/agent/hip_api.inc
  gen_hip_api.py --flags                   only its flags, after a change of src/amd/hip_calls.inc
  gen_hip_api.py --check                   is every function classified, and do both files agree?
  gen_hip_api.py --self-test               can --check fail?

Each ROOT is the root of a system with the HIP development files and libraries of one ROCm release ("/" for
this one), oldest first. A function is taken when a header declares it and the library exports it; the table is
the union over all releases. Written is src/agent/hip_api.inc, one WT_HIP row per exported symbol. It is
committed and reviewed as data: this script needs clang and several releases, the build needs neither.
What a function does, and hence its flags, is written by hand in src/amd/hip_calls.inc.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEADERS = ["hip/hip_runtime_api.h", "hip/hip_ext.h", "hip/hiprtc.h"]
DEFINES = ["-D__HIP_PLATFORM_AMD__", "-D__HIP_PLATFORM_HCC__"]

# Interfaces for profilers and for compilers are not part of what programs call.
EXCLUDED = re.compile(r"^(__hip|amd_|hip(Register|Remove|Enable|Init)(Api|Activity|Tracer)|hipGetCmdName)")

# Exported under a second name, or declared only in headers that need a graphics library.
# (symbol, name to show, result, [(type, name, code)], first release is the oldest given)
EXTRA = [
    ("hipGetDevicePropertiesR0000", "hipGetDevicePropertiesR0000", "int32_t",
     [("void*", "prop", "p"), ("int32_t", "device", "i")]),
    # Not recorded, but it tells the name of a kernel.
    ("__hipRegisterFunction", "__hipRegisterFunction", "void",
     [("void*", "modules", "p"), ("void*", "hostFunction", "p"), ("void*", "deviceFunction", "p"),
      ("const char*", "deviceName", "s"), ("uint32_t", "threadLimit", "u"), ("void*", "tid", "p"), ("void*", "bid", "p"),
      ("void*", "blockDim", "p"), ("void*", "gridDim", "p"), ("void*", "wSize", "p")]),
    ("hipChooseDeviceR0000", "hipChooseDeviceR0000", "int32_t",
     [("void*", "device", "oi"), ("void*", "properties", "p")]),
    ("hipGLGetDevices", "hipGLGetDevices", "int32_t",
     [("void*", "pHipDeviceCount", "ou"), ("void*", "pHipDevices", "p"), ("uint32_t", "hipDeviceCount", "u"),
      ("uint32_t", "deviceList", "u")]),
    ("hipGraphicsGLRegisterBuffer", "hipGraphicsGLRegisterBuffer", "int32_t",
     [("void*", "resource", "op"), ("uint32_t", "buffer", "u"), ("uint32_t", "flags", "u")]),
    ("hipGraphicsGLRegisterImage", "hipGraphicsGLRegisterImage", "int32_t",
     [("void*", "resource", "op"), ("uint32_t", "image", "u"), ("uint32_t", "target", "u"), ("uint32_t", "flags", "u")]),
    ("_ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv", "hipLaunchKernelGGLImpl", "void",
     [("uint64_t", "function_address", "p"), ("const Dim3&", "numBlocks", "d3"), ("const Dim3&", "dimBlocks", "d3"),
      ("uint32_t", "sharedMemBytes", "u"), ("void*", "stream", "p"), ("void*", "kernarg", "p")]),
]

# Pointers to arrays, or to memory that need not be there when the call has succeeded.
ARRAYS = {
    "args", "kernelParams", "extra", "nodes", "dependencies", "pDependencies", "dependencies_out", "from", "to",
    "options", "optionValues", "option_values", "options_ptr", "option_ptr", "option_vals_pptr", "jitOptions",
    "jitOptionsValues", "libraryOptions", "libraryOptionValues", "pDependentNodes", "pRootNodes", "attributes", "data",
    "data_sizes", "attrsIdxs", "failIdx", "dsts", "srcs", "sizes", "launchParamsList", "paramsArray", "extSemArray",
    "cuMask", "device_arr", "pHipDevices", "pBorderColor", "kernels", "params", "streams",
}

# Structures behind a pointer that say what a copy, a fill or a launch does: kept whole.
IN_STRUCTURES = ["hipMemcpy3DParms", "HIP_MEMCPY3D", "hip_Memcpy2D", "hipKernelNodeParams", "hipMemsetParams",
                 "HIP_LAUNCH_CONFIG", "hipLaunchConfig_t"]

BUILTIN = {
    "int": ("int32_t", "i"), "unsigned int": ("uint32_t", "u"), "unsigned char": ("uint8_t", "u"),
    "char": ("int8_t", "i"), "signed char": ("int8_t", "i"), "short": ("int16_t", "i"), "unsigned short": ("uint16_t", "u"),
    "long": ("int64_t", "I"), "unsigned long": ("uint64_t", "U"), "long long": ("int64_t", "I"),
    "unsigned long long": ("uint64_t", "U"), "float": ("float", "f"), "double": ("double", "d"), "bool": ("bool", "b"),
    "_Bool": ("bool", "b"),
}
OUT_TYPES = {"i": "int32_t", "u": "uint32_t", "U": "uint64_t", "I": "int64_t", "z": "uint64_t", "p": "void*",
             "f": "float", "d": "double", "b": "bool", "e": "int32_t"}


class Release:
    """The declarations of one ROCm release, as clang sees them."""

    def __init__(self, root, clang):
        self.root = root
        self.functions = {}  # symbol: declaration
        self.enums = {}      # name: [(enumerator, value)]
        self.records = set()
        self.typedefs = {}
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(os.path.abspath(root), "usr/include/hip"), os.path.join(folder, "hip"))
            self.options = ["-x", "c++", "-std=c++17", *DEFINES, "-isystem", folder]
            source = os.path.join(folder, "all.cc")
            pathlib.Path(source).write_text("".join(f"#include <{name}>\n" for name in HEADERS))
            ast = subprocess.run([clang, *self.options, "-fsyntax-only", "-Xclang", "-ast-dump=json", source],
                                 capture_output=True, text=True, check=True).stdout
            self._walk(json.loads(ast))
            self._measure(clang, folder)
        self.exports = set()
        for pattern in ("libamdhip64.so.?", "libhiprtc.so.?"):
            for library in glob.glob(os.path.join(root, "usr/lib/*", pattern)):
                listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
                self.exports |= {line.split()[2].split("@")[0] for line in listed.stdout.splitlines()
                                 if len(line.split()) == 3 and line.split()[1] in "TW"}

    def _walk(self, node):
        for child in node.get("inner", []):
            kind = child.get("kind")
            if kind in ("LinkageSpecDecl", "NamespaceDecl"):
                self._walk(child)
            elif kind == "FunctionDecl":
                self.functions.setdefault(child.get("mangledName", child["name"]), child)
            elif kind == "EnumDecl":
                self._enum(child)
            elif kind in ("CXXRecordDecl", "RecordDecl"):
                self.records.add(child.get("name", ""))
            elif kind == "TypedefDecl":
                self.typedefs[child["name"]] = child["type"].get("desugaredQualType", child["type"]["qualType"])
                # `typedef enum {...} name` has no name of its own.
                inner = json.dumps(child.get("inner", []))
                owned = re.search(r'"ownedTagDecl": \{"id": "(0x[0-9a-f]+)", "kind": "EnumDecl"', inner)
                if owned and owned.group(1) in self._unnamed:
                    self.enums[child["name"]] = self._unnamed[owned.group(1)]

    _unnamed = {}

    def _enum(self, node):
        values, next_value = [], 0
        for child in node.get("inner", []):
            if child.get("kind") != "EnumConstantDecl":
                continue
            found = re.search(r'"kind": "ConstantExpr"[^{}]*?(?:\{[^{}]*\}[^{}]*?)*"value": "(-?\d+)"', json.dumps(child))
            if found:
                next_value = int(found.group(1))
            values.append((child["name"], next_value))
            next_value += 1
        if node.get("name"):
            self.enums[node["name"]] = values
        else:
            self._unnamed[node["id"]] = values

    def _measure(self, clang, folder):
        """Size and alignment of every structure that is passed or returned by value."""
        wanted = set()
        for function in self.functions.values():
            for text in [result_of(function)] + [p["type"]["qualType"] for p in parameters_of(function)]:
                name = strip(text)
                if is_pointer(name) or is_pointer(self.typedefs.get(name, "")):
                    continue
                if name in self.records or self.typedefs.get(name, "") in self.records or \
                        self.typedefs.get(name, "").startswith("struct "):
                    wanted.add(name)
        wanted = {name for name in wanted if re.match(r"^(hip|dim3)", name)}
        wanted |= {name for name in IN_STRUCTURES if name in self.records or name in self.typedefs}
        source = os.path.join(folder, "sizes.cc")
        program = os.path.join(folder, "sizes")
        body = "".join(f'  std::printf("{name} %zu %zu\\n", sizeof({name}), alignof({name}));\n' for name in sorted(wanted))
        pathlib.Path(source).write_text("".join(f"#include <{name}>\n" for name in HEADERS) +
                                        "#include <cstdio>\nint main() {\n" + body + "}\n")
        subprocess.run([clang, *self.options, source, "-o", program], check=True, capture_output=True)
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
        self.sizes = {line.split()[0]: (int(line.split()[1]), int(line.split()[2])) for line in lines}


def strip(text):
    return re.sub(r"\b(const|volatile|struct|enum|__restrict|restrict)\b", "", text).strip()


def result_of(function):
    return function["type"]["qualType"].split("(")[0].strip()


def parameters_of(function):
    return [child for child in function.get("inner", []) if child.get("kind") == "ParmVarDecl"]


def is_pointer(text):
    return text.endswith("*") or "(*)" in text or text.endswith("]") or text.endswith("&")


def classify(release, qualified, desugared):
    """(C++ type of the mirror, layout code) of a type passed by value."""
    name, plain = strip(qualified), strip(desugared or qualified)
    if name in release.typedefs and not is_pointer(plain):
        plain = strip(release.typedefs[name])
    if is_pointer(plain):
        return "void*", "p"
    if name in release.enums or plain in release.enums:
        return "int32_t", f"e:{name}"
    if name == "size_t":
        return "size_t", "z"
    if plain in BUILTIN:
        return BUILTIN[plain]
    if name == "dim3" or plain == "dim3":
        return "Dim3", "d3"
    if name in release.sizes:
        size, alignment = release.sizes[name]
        return f"Opaque<{size}, {alignment}>", f"x{size}"
    sys.exit(f"{release.root}: cannot classify the type {qualified} ({desugared})")


def parameter(release, function, node, index):
    """(C++ type, name, layout code)"""
    qualified, desugared = node["type"]["qualType"], node["type"].get("desugaredQualType")
    name = node.get("name", f"p{index}")
    if name in ("ok", "result", "call", "real"):
        name += "_"
    kind, code = classify(release, qualified, desugared)
    if code != "p":
        return kind, name, code
    text = qualified.strip()
    if re.match(r"^(const char|char const) ?\*$", text):
        return "const char*", name, "s"
    if not text.endswith("*"):
        return "void*", name, "p"
    pointee = text[:-1].strip()
    base = strip(pointee)
    if base in release.sizes and base in IN_STRUCTURES and ("const" in pointee or "Memcpy3D" in function):
        return "void*", name, f"v{release.sizes[base][0]}"
    if "const" in pointee.split("*")[-1] or name in ARRAYS:
        return "void*", name, "p"
    if base in ("void", "char", "unsigned char") or base in release.sizes or base in release.records:
        return "void*", name, "p"
    resolved = strip(release.typedefs.get(base, base))
    if resolved in release.records or resolved in ("void", "char") or "(unnamed" in resolved:
        if base not in release.enums:
            return "void*", name, "p"
    kind, code = classify(release, pointee, release.typedefs.get(base))
    if code == "d3" or code.startswith("x"):
        return "void*", name, "p"
    return "void*", name, "o" + code


class Calls:
    """src/amd/hip_calls.inc: what functions do, which argument is what."""

    ROW = re.compile(r'^WT_HIP_CALL\((\w+), (\w+), ([\w |]+), "([^"]*)"\)$', re.M)
    # Flags that the hooks want to know.
    OF_HOOKS = ("kUnrecorded", "kEssential", "kBlocking")

    def __init__(self, text):
        self.flags, self.arguments = {}, {}
        for name, _, flags, arguments in self.ROW.findall(text):
            self.flags[name] = " | ".join(f for f in self.OF_HOOKS if f in flags.split(" | ")) or "0"
            self.arguments[name] = arguments.split()

    def parameters(self, name):
        """Names of parameters that the row speaks of, with the word asked for inside a structure."""
        for item in self.arguments[name]:
            role, separator, places = re.match(r"([a-z_]+)([:=]?)(.*)", item).groups()
            if separator == "=":
                continue
            for place in (places or role).split("|"):
                found = re.match(r"(\w+)(?:\[(\d+)\])?$", place)
                yield found[1], int(found[2] or 0)


def words_of(code):
    """Words that an argument takes; docs/format.md, "Arguments"."""
    code = code.split(":")[0]
    structure = re.match(r"[xv](\d+)$", code)
    return (int(structure[1]) + 7) // 8 if structure else 2 if code == "d3" else 1


HOOKS = re.compile(r'^(WT_HIP\(\S+, (\w+), .*\n +.*"([^"]*)", )([\w |]+)\)$', re.M)


def check(calls_text, hooks_text):
    """What does not agree between hip_calls.inc and hip_api.inc."""
    calls, problems, hooked = Calls(calls_text), [], set()
    for _, name, layout, flags in HOOKS.findall(hooks_text):
        hooked.add(name)
        if name not in calls.flags:
            problems.append(f"{name}: not in src/amd/hip_calls.inc; say what it does, or that it is kPlain")
            continue
        if calls.flags[name] != flags:
            problems.append(f"{name}: {flags} in hip_api.inc, {calls.flags[name]} in hip_calls.inc; run gen_hip_api.py --flags")
        codes = dict(item.split(":", 1) for item in layout.split(",") if item)
        for parameter, word in calls.parameters(name):
            if parameter not in codes:
                problems.append(f"{name}: has no parameter {parameter}")
            elif word >= words_of(codes[parameter]):
                problems.append(f"{name}: {parameter} has no word {word}")
    if not hooked:
        problems.append("hip_api.inc: no row is understood")
    problems += [f"{name}: in hip_calls.inc, but not hooked" for name in sorted(set(calls.flags) - hooked)]
    return problems


def self_test():
    hooks = 'WT_HIP(hipX, hipX, kHip, (int32_t), (void* p), (p),\n       (Word{p}), "p:p,q:v16", kEssential)\n'
    cases = {
        "not in src/amd": 'WT_HIP_CALL(hipY, kPlain, 0, "")\n',
        "not hooked": 'WT_HIP_CALL(hipY, kPlain, 0, "")\n',
        "run gen_hip_api.py --flags": 'WT_HIP_CALL(hipX, kPlain, kBlocking, "")\n',
        "has no parameter r": 'WT_HIP_CALL(hipX, kFree, kEssential, "pointer:r")\n',
        "has no word 2": 'WT_HIP_CALL(hipX, kFree, kEssential, "pointer:p|q[2]")\n',
    }
    failures = 0
    for expected, calls in cases.items():
        if not any(expected in problem for problem in check(calls, hooks)):
            print(f"self-test: no complaint like '{expected}' about {calls.strip()}")
            failures += 1
    if check('WT_HIP_CALL(hipX, kFree, kEssential | kPerThread, "pointer:p bytes:q[1] kind=3")\n', hooks):
        print("self-test: complains about good rows")
        failures += 1
    return failures


def row(symbol, name, result, parameters, flags):
    packed, passed = [], []
    for kind, argument, code in parameters:
        # A dim3 travels in two registers everywhere; taken as such, nothing is spilled on the way through.
        if kind == "Dim3":
            passed += [("uint64_t", argument), ("uint64_t", argument + "_z")]
            packed.append(f"Three{{{argument}, {argument}_z}}")
            continue
        passed.append((kind, argument))
        if code[0] == "o":
            packed.append(f"Out<{OUT_TYPES[code[1]]}>{{{argument}, ok}}")
        elif code[0] == "v":
            packed.append(f"Behind<{code[1:]}>{{{argument}, ok}}")
        elif code == "s":
            packed.append(f"CString({argument}, ok)")
        elif code == "d3" or code[0] == "x":
            packed.append(f"Bytes{{{argument}}}")
        else:
            packed.append(f"Word{{{argument}}}")
    family = "kHiprtc" if name.startswith("hiprtc") else "kHip"
    types = ", ".join(f"{kind} {argument}" for kind, argument in passed)
    names = ", ".join(argument for _, argument in passed)
    layout = ",".join(f"{argument}:{code}" for _, argument, code in parameters)
    return (f"WT_HIP({symbol}, {name}, {family}, ({result}), ({types}), ({names}),\n"
            f"       ({', '.join(packed)}), \"{layout}\", {flags})\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("roots", nargs="*")
    parser.add_argument("--clang", default="clang++-15")
    parser.add_argument("--flags", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        sys.exit(1 if self_test() else 0)
    top = pathlib.Path(__file__).resolve().parent.parent
    hooks, calls = top / "src/agent/hip_api.inc", top / "src/amd/hip_calls.inc"
    if arguments.check:
        problems = check(calls.read_text(), hooks.read_text())
        print("\n".join(problems), end="\n" if problems else "")
        sys.exit(1 if problems else 0)
    flags = Calls(calls.read_text()).flags
    if arguments.flags:
        hooks.write_text(HOOKS.sub(lambda match: match[1] + flags.get(match[2], match[4]) + ")", hooks.read_text()))
        return
    if not arguments.roots:
        parser.error("give the roots of ROCm releases, oldest first")

    table = {}
    for root in arguments.roots:
        release = Release(root, arguments.clang)
        taken = 0
        for symbol, function in release.functions.items():
            if symbol not in release.exports or EXCLUDED.match(function["name"]):
                continue
            taken += 1
            result = result_of(function)
            result = "void" if result == "void" else classify(release, result, release.typedefs.get(strip(result)))[0]
            shown = function["name"] if symbol.startswith("_Z") else symbol
            parameters = [parameter(release, shown, node, i) for i, node in enumerate(parameters_of(function))]
            known = table.get(symbol)
            if known and [p[0] for p in known[2]] != [p[0] for p in parameters]:
                print(f"{root}: {symbol} has changed: ({', '.join(p[0] for p in known[2])}) -> "
                      f"({', '.join(p[0] for p in parameters)})")
            # The longest parameter list: passing on a register or stack word too many harms nobody.
            if not known or len(parameters) >= len(known[2]):
                table[symbol] = (shown, result, parameters)
        print(f"{root}: {taken} functions")
    for symbol, shown, result, parameters in EXTRA:
        table.setdefault(symbol, (shown, result, parameters))

    unknown = sorted({shown for shown, _, _ in table.values()} - set(flags))
    if unknown:
        sys.exit(f"not in src/amd/hip_calls.inc, say what they do: {', '.join(unknown)}")
    with open(hooks, "w") as out:
        out.write("// Every function of the HIP runtime and hipRTC, over all releases. Written by tools/gen_hip_api.py.\n"
                  "//\n"
                  "// WT_HIP(symbol, name, family, (result), (parameters), (arguments),\n"
                  "//        (packed arguments), layout, flags)\n")
        for symbol in sorted(table, key=lambda s: (table[s][0], s)):
            out.write(row(symbol, *table[symbol], flags[table[symbol][0]]))
    print(f"{len(table)} symbols")


if __name__ == "__main__":
    main()
