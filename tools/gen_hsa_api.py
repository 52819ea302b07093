#!/usr/bin/env python3
"""Writes src/agent/hsa_api.inc: every function of HSA's core and AMD extension tables.

  gen_hsa_api.py INCLUDE_DIR OLDER_HSA_API_TRACE_H... > src/agent/hsa_api.inc

INCLUDE_DIR holds the headers of the newest ROCr (hsa.h, hsa_ext_amd.h, hsa_api_trace.h); they give order,
parameters and layouts. The older hsa_api_trace.h files only say how large the AMD table was when an entry
came: entries were put in the middle twice, so an entry's place depends on the size of the table at hand.

The table is reviewed as data and committed: run this again when a newer ROCr adds functions.
"""
import pathlib
import re
import sys

CALLBACK = re.compile(r"\(\s*\*\s*(\w+)\s*\)")
SCALARS = {
    "uint64_t": ("uint64_t", "U"), "int64_t": ("int64_t", "I"), "size_t": ("size_t", "z"),
    "uint32_t": ("uint32_t", "u"), "int32_t": ("int32_t", "i"), "int": ("int32_t", "i"), "uint16_t": ("uint16_t", "u"),
    "bool": ("bool", "b"), "hsa_signal_value_t": ("int64_t", "I"), "hsa_file_t": ("int32_t", "i"),
    "hsa_queue_type32_t": ("uint32_t", "u"), "hsa_handle_t": ("int32_t", "i"),
}
CREATES = re.compile(r"create|allocate|attach|lock|from_name|get_symbol|reserve|import|retain|load_")


def without_comments(text):
    return re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))


def entries(text, table):
    body = re.search(r"struct %s \{(.*?)\n\};" % table, text, re.S).group(1)
    return re.findall(r"(\w+)_fn\b", without_comments(body).replace("\n", " "))


def split_parameters(text):
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    parts.append(current)
    return [" ".join(p.split()) for p in parts if p.strip() not in ("", "void")]


def declaration(text, name):
    match = re.search(r"([\w]+)\s+(?:HSA_API\s+)?(?:HSA_DEPRECATED\s+)?%s\s*\(" % name, text)
    begin, depth = match.end(), 1
    end = begin
    while depth:
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return match.group(1), split_parameters(text[begin:end - 1])


class Types:
    """What a type name stands for at the ABI: handles are one 64-bit word, enumerations 32 bits."""

    def __init__(self, text):
        self.handles, self.callbacks = set(), set(re.findall(r"typedef\s+[\w ]+\*?\s*\(\s*\*\s*(\w+)\s*\)\s*\(", text))
        for body, name in re.findall(r"typedef\s+struct\s*\w*\s*\{([^{}]*)\}\s*(\w+)\s*;", text):
            fields = [f.strip() for f in body.split(";") if f.strip()]
            if len(fields) == 1 and re.match(r"uint64_t\s+handle$", fields[0]):
                self.handles.add(name)
        self.enums = set(re.findall(r"\}\s*(\w+)\s*;", " ".join(re.findall(r"typedef\s+enum[^;]*;", text))))

    def parameter(self, text, function):
        """(C type, name, layout code)"""
        callback = CALLBACK.search(text)
        if callback:
            return "void*", callback.group(1), "p"
        array = re.match(r"(.*?)\s*(\w+)\s*\[.*\]$", text)
        if array:
            text = f"{array.group(1)}* {array.group(2)}"
        type_name, stars, name = re.match(r"(.*?)\s*((?:\*\s*(?:const)?\s*)*)\s*(\w+)$", text).groups()
        constant = type_name.startswith("const ")
        base = type_name.replace("const ", "").replace("struct ", "").strip()
        depth = stars.count("*")
        if depth == 0:
            if base in SCALARS:
                return SCALARS[base][0], name, SCALARS[base][1]
            if base in self.handles:
                return "uint64_t", name, "p"
            if base in self.callbacks:
                return "void*", name, "p"
            if base in self.enums:
                return "uint32_t", name, f"e:{base}"
            if base == "hsa_amd_ais_file_handle_t":  # a union of one word
                return "uint64_t", name, "U"
            sys.exit(f"gen_hsa_api.py: error: {function}: unknown type {base}; add it to SCALARS or Types")
        if base == "hsa_queue_t" and depth == 1:
            return ("const HsaQueue*" if constant else "HsaQueue*"), name, "p"
        if base == "char" and depth == 1 and constant:
            return "const char*", name, "s"
        created = CREATES.search(function) and not constant and name != "agents"
        if depth == 2:
            if base == "hsa_queue_t":
                return "HsaQueue**", name, "op"
            if base == "char" or base == "hsa_agent_t":
                return "void*", name, "p"
            return "void**", name, "op" if created else "p"
        if base in self.handles:
            return ("const uint64_t*" if constant else "uint64_t*"), name, "op" if created else "p"
        return ("const void*" if constant else "void*"), name, "p"


def result(name):
    return {"void": "void", "hsa_status_t": "HsaStatus", "uint64_t": "uint64_t", "uint32_t": "uint32_t",
            "hsa_signal_value_t": "int64_t"}[name]


def main():
    folder = pathlib.Path(sys.argv[1])
    trace = (folder / "hsa_api_trace.h").read_text()
    text = without_comments("\n".join((folder / n).read_text() for n in ("hsa.h", "hsa_ext_amd.h")) + trace)
    types = Types(text)
    older = sorted((entries(pathlib.Path(p).read_text(), "AmdExtTable") for p in sys.argv[2:]), key=len)

    print("""// Every function of HSA's core and AMD extension tables, in the order of the newest ROCr. Written by
// tools/gen_hsa_api.py from AMD's headers, reviewed as data.
//
//   WT_HSA_CORE(name, result, (parameters), layout)
//   WT_HSA_AMD(entries, name, result, (parameters), layout)
//
// `entries` is the size of the AMD table when the function came: it is missing from a smaller one, and the
// place of an entry is its rank among those that the table has. Handles are 64-bit words, enumerations 32-bit
// ones; the layout says how a recorded call's argument words are read.""")
    for macro, table in (("WT_HSA_CORE", "CoreApiTable"), ("WT_HSA_AMD", "AmdExtTable")):
        names = entries(trace, table)
        print(f"\n// {table}: {len(names)} entries")
        for name in names:
            returns, parameters = declaration(text, name)
            parsed = [types.parameter(p, name) for p in parameters]
            since = next((len(o) for o in older + [names] if name in o), None)
            size = f"{since}, " if table == "AmdExtTable" else ""
            layout = ",".join(f"{n}:{code}" for _, n, code in parsed)
            print(f"{macro}({size}{name}, {result(returns)}, ({', '.join(t for t, _, _ in parsed)}), \"{layout}\")")


main()
