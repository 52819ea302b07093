#!/usr/bin/env python3
"""Unpacks a machine described in one text file into a folder for `wavetap doctor --sysroot`.

A fixture is a list of lines; a later one replaces what an earlier one made:
  include NAME                   the lines of NAME.tree in the same folder
  text PATH = LINE               a file of one line
  file PATH                      a file of the `| ` lines that follow
  sparse PATH BYTES              a file of that size that takes no room
  properties PATH k=v k=v …      a file of `k v` lines, as the driver's topology has them
  link PATH -> TARGET            a symbolic link
  folder PATH                    an empty folder
  env NAME=VALUE                 a variable of /proc/self/environ; \\xNN stands for a byte
  stat PATH TYPE MODE UID GID    type and owner that a copied tree cannot keep
  elf PATH k=v …                 a shared library: soname, needed (a,b), build-id, runpath, string, targets (gfx900,gfx906), exports (a,b)
  remove PATH                    a file, or a folder with everything in it
"""
import os
import pathlib
import re
import shutil
import struct
import sys


def fat_binary(targets):
    """The header of an offload bundle with empty code objects."""
    ids = [b"host-x86_64-unknown-linux-gnu-"] + [b"hipv4-amdgcn-amd-amdhsa--" + target.encode() for target in targets]
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids)) + b"".join(struct.pack("<QQQ", 4096, 0, len(id)) + id for id in ids)


def elf(soname="", needed="", build_id="", runpath="", string="", targets="", exports=""):
    """A 64-bit little-endian shared object with a dynamic section, a build-id note and no code; with targets, a section of
    HIP device code for them; with exports, a symbol table."""
    names = bytearray(b"\0")

    def name(text):
        names.extend(text.encode() + b"\0")
        return len(names) - len(text) - 1

    entries = [(1, name(library)) for library in needed.split(",") if library]
    if soname:
        entries.append((14, name(soname)))
    if runpath:
        entries.append((29, name(runpath)))
    header_bytes, program_bytes, programs = 64, 56, 3
    dynamic_at = header_bytes + programs * program_bytes
    dynamic_bytes = (len(entries) + 3) * 16
    note_id = bytes.fromhex(build_id)
    note = struct.pack("<III", 4, len(note_id), 3) + b"GNU\0" + note_id + b"\0" * (-len(note_id) % 4)
    note_at = dynamic_at + dynamic_bytes
    names_at = note_at + len(note)
    entries += [(5, names_at), (10, len(names)), (0, 0)]
    body = b"".join(struct.pack("<QQ", *entry) for entry in entries) + note + bytes(names) + string.encode()
    wanted = [(".hip_fatbin", 1, fat_binary(targets.split(",")))] if targets else []
    if exports:
        strings, symbols = b"\0", bytes(24)
        for export in exports.split(","):
            symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, 0, 0)
            strings += export.encode() + b"\0"
        wanted += [(".dynsym", 11, symbols), (".dynstr", 3, strings)]
    sections, sections_at = b"", 0
    if wanted:
        section_names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in wanted) + b".shstrtab\0"
        wanted.append((".shstrtab", 3, section_names))
        sections = bytes(64)
        for section_name, kind, content in wanted:
            name_at = section_names.index(b"\0" + section_name.encode() + b"\0") + 1
            sections += struct.pack("<IIQQQQIIQQ", name_at, kind, 0, 0, dynamic_at + len(body), len(content), 0, 0, 1, 0)
            body += content
        sections_at = dynamic_at + len(body)
    total = dynamic_at + len(body)
    ident = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, header_bytes, sections_at, 0, 64, program_bytes, programs, 64, len(sections) // 64, len(wanted) if sections else 0)
    segments = [(1, 5, 0, total), (2, 6, dynamic_at, dynamic_bytes), (4, 4, note_at, len(note))]
    table = b"".join(struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, 8) for kind, flags, at, size in segments)
    return header + table + body + sections


class Sysroot:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.variables = {}
        self.stated = []

    def place(self, path):
        host = self.folder / path.lstrip("/")
        # A fixture may write through links it made: /opt/rocm -> rocm-6.3.0.
        host.parent.mkdir(parents=True, exist_ok=True)
        if host.is_symlink() or host.is_file():
            host.unlink()
        return host

    def unpack(self, fixture):
        pending = None
        for number, line in enumerate(fixture.read_text().split("\n"), 1):
            if line.startswith("| ") or line == "|":
                pending.append(line[2:])
                continue
            if pending is not None:
                pending = self.finish(pending)
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.partition(" ")
            if word == "file":
                self.target, pending = self.place(rest), []
            else:
                try:
                    getattr(self, f"on_{word}")(rest, fixture)
                except AttributeError:
                    sys.exit(f"{fixture.name}:{number}: unknown line {line!r}")
        if pending is not None:
            self.finish(pending)

    def finish(self, lines):
        self.target.write_text("\n".join(lines) + "\n")

    def on_include(self, name, fixture):
        self.unpack(fixture.parent / f"{name}.tree")

    def on_text(self, rest, _):
        path, _, value = (rest + " ").partition(" = ")
        value = value.rstrip(" ")
        self.place(path).write_text(value + "\n")

    def on_sparse(self, rest, _):
        path, size = rest.split()
        host = self.place(path)
        host.touch()
        os.truncate(host, int(size))

    def on_properties(self, rest, _):
        path, *pairs = rest.split()
        self.place(path).write_text("".join(pair.replace("=", " ", 1) + "\n" for pair in pairs))

    def on_link(self, rest, _):
        path, _, target = rest.partition(" -> ")
        os.symlink(target, self.place(path))

    def on_folder(self, path, _):
        (self.folder / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def on_env(self, rest, _):
        name, _, value = rest.partition("=")
        self.variables[name] = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), value.encode())

    def on_stat(self, rest, _):
        self.stated.append(rest)

    def on_elf(self, rest, _):
        path, *pairs = rest.split()
        keys = dict(pair.split("=", 1) for pair in pairs)
        self.place(path).write_bytes(elf(**{key.replace("-", "_"): value for key, value in keys.items()}))

    def on_remove(self, path, _):
        host = self.folder / path.lstrip("/")
        if host.is_dir() and not host.is_symlink():
            shutil.rmtree(host)
        elif host.is_symlink() or host.exists():
            host.unlink()

    def close(self):
        if self.variables:
            environ = b"".join(name.encode() + b"=" + value + b"\0" for name, value in self.variables.items())
            self.place("/proc/self/environ").write_bytes(environ)
        if self.stated:
            self.place("/.wavetap-sysroot").write_text("\n".join(self.stated) + "\n")


def unpack(fixture, folder):
    sysroot = Sysroot(folder)
    sysroot.unpack(pathlib.Path(fixture))
    sysroot.close()


if __name__ == "__main__":
    unpack(*sys.argv[1:3])
