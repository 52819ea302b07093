#!/usr/bin/env python3
"""doctor --fix and run --safe: the variables are changed and come back, and hostile values stay values.

  fix_test.py --bin build/bin
"""
import argparse
import os
import pathlib
import subprocess
import tempfile

import sysroot

HERE = pathlib.Path(__file__).resolve().parent


def environment_of(tree):
    entries = [entry for entry in (tree / "proc/self/environ").read_bytes().split(b"\0") if entry]
    return dict(entry.split(b"=", 1) for entry in entries)


def after(folder, environment, *scripts):
    """The environment of a shell that starts with `environment` and reads the scripts."""
    text = "".join(f". ./{script}; " for script in scripts) + "env -0"
    shell = {b"PATH": b"/usr/bin:/bin", **environment}
    shown = subprocess.run(["sh", "-c", text], cwd=folder, env=shell, capture_output=True, timeout=60, check=True)
    return {name: value for name, value in (e.split(b"=", 1) for e in shown.stdout.split(b"\0") if b"=" in e)
            if name not in (b"PATH", b"PWD", b"_", b"OLDPWD", b"SHLVL")}


def fix(wavetap, folder, tree, *options):
    return subprocess.run([wavetap, "doctor", "--sysroot", tree, "--fix", *options], cwd=folder, capture_output=True, timeout=60)


def unpacked(folder, fixture):
    tree = pathlib.Path(folder) / "tree"
    tree.mkdir()
    sysroot.unpack(HERE / "fixtures" / f"{fixture}.tree", tree)
    return tree


def foreign_files(wavetap):
    """A file that wavetap did not make is never overwritten, neither FILE nor FILE.undo."""
    for name in ("precious.txt", "precious.txt.undo"):
        with tempfile.TemporaryDirectory() as folder:
            tree = unpacked(folder, "rx5600xt-override")
            precious = pathlib.Path(folder) / name
            precious.write_text("precious\n")
            done = fix(wavetap, folder, tree, "precious.txt")
            assert done.returncode == 1, done
            assert f"wavetap: error: {name}: was not made by wavetap doctor --fix; ".encode() in done.stderr, done.stderr
            assert precious.read_text() == "precious\n"
            left = sorted(path.name for path in pathlib.Path(folder).iterdir())
            assert left == sorted(["tree", name]), left


def fix_again(wavetap):
    """A second --fix, after the first was applied, keeps its changes and the way back to the beginning."""
    for fixture in ("rx5600xt-override", "residue", "hostile"):
        with tempfile.TemporaryDirectory() as folder:
            tree = unpacked(folder, fixture)
            start = after(folder, environment_of(tree))
            fix(wavetap, folder, tree)
            fixed = after(folder, start, "wavetap-fix.sh")
            assert fixed != start, fixture
            # The machine as a shell sees it that has read the file, and set something else meanwhile.
            fixed[b"HSA_NO_SCRATCH_RECLAIMM"] = b"it's 1\n"
            (tree / "proc/self/environ").write_bytes(b"".join(n + b"=" + v + b"\0" for n, v in fixed.items()))
            again = fix(wavetap, folder, tree)
            assert again.returncode in (0, 2), again
            back = after(folder, after(folder, fixed, "wavetap-fix.sh"), "wavetap-fix.sh.undo")
            expected = {**start, b"HSA_NO_SCRATCH_RECLAIMM": b"it's 1\n"}
            assert back == expected, (fixture, back, expected)
            # A fresh shell that reads the one file has every change of both.
            fresh = after(folder, start, "wavetap-fix.sh")
            unset = {name for name in start if name not in fixed}
            assert not unset & set(fresh), (fixture, unset, fresh)
            third = fix(wavetap, folder, tree)
            assert after(folder, fixed, "wavetap-fix.sh", "wavetap-fix.sh.undo") == expected, third


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    wavetap = str(parser.parse_args().bin.resolve() / "wavetap")
    foreign_files(wavetap)
    fix_again(wavetap)
    for fixture in ("rx5600xt-override", "residue", "two-rocms", "hostile"):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder) / "tree"
            tree.mkdir()
            sysroot.unpack(HERE / "fixtures" / f"{fixture}.tree", tree)
            done = subprocess.run([wavetap, "doctor", "--sysroot", tree, "--fix"], cwd=folder, capture_output=True, timeout=60)
            assert done.returncode == 2, done
            entries = [entry for entry in (tree / "proc/self/environ").read_bytes().split(b"\0") if entry]
            before = dict(entry.split(b"=", 1) for entry in entries)
            shell = {b"PATH": b"/usr/bin:/bin", **before}
            # `env -0` before, after the fix, and after the undo; LD_PRELOAD of the fixture does not exist, which is harmless.
            script = "env -0; printf END; . ./wavetap-fix.sh; env -0; printf END; . ./wavetap-fix.sh.undo; env -0"
            shown = subprocess.run(["sh", "-c", script], cwd=folder, env=shell, capture_output=True, timeout=60)
            states = [dict(e.split(b"=", 1) for e in part.split(b"\0") if b"=" in e) for part in shown.stdout.split(b"END")]
            for state in states:
                state.pop(b"SHLVL", None)  # bash, where it is sh, counts itself out before the last command
            changed = {name for name in set(states[0]) | set(states[1]) if states[0].get(name) != states[1].get(name)}
            assert changed, (fixture, done.stderr)
            assert states[0] == states[2], (fixture, states[0], states[2])
            assert not os.path.exists("/pwned"), "a value was evaluated"
            if fixture != "two-rocms":
                assert b"HSA_OVERRIDE_GFX_VERSION" not in states[1] or fixture == "hostile", (fixture, states[1])
            left = sorted(path.name for path in pathlib.Path(folder).iterdir())
            assert left == ["tree", "wavetap-fix.sh", "wavetap-fix.sh.undo"], left

    # One run only, on a virtual machine whose logins set the override.
    command = [wavetap, "run", "--gpu", "rx5600xt-override", "--no-trace"]
    shell = ["--", "sh", "-c", "echo \"[$HSA_OVERRIDE_GFX_VERSION]\""]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HSA_")}
    plain = subprocess.run(command + shell, capture_output=True, timeout=60, env=environment)
    safe = subprocess.run(command + ["--safe"] + shell, capture_output=True, timeout=60, env=environment)
    assert plain.stdout == b"[10.3.0]\n", plain
    assert safe.stdout == b"[]\n" and b"--safe: HSA_OVERRIDE_GFX_VERSION unset (override.unsafe)" in safe.stderr, safe


if __name__ == "__main__":
    main()
