#!/usr/bin/env python3
"""`wavetap device` and wavetap.device.get_device(): the right device, the reason, and a cache that notices changes.

  device_test.py --bin build/bin
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    wavetap = str(parser.parse_args().bin.resolve() / "wavetap")
    with tempfile.TemporaryDirectory() as cache:
        def run(*command, **variables):
            environment = dict(os.environ, XDG_CACHE_HOME=cache, WAVETAP=wavetap, PYTHONPATH=str(PYTHON), **variables)
            for name in ("HSA_OVERRIDE_GFX_VERSION", "HIP_VISIBLE_DEVICES"):
                if name not in variables:
                    environment.pop(name, None)
            return subprocess.run(command, capture_output=True, timeout=120, env=environment)

        def device(model, **variables):
            done = run(wavetap, "run", "--gpu", model, "--no-trace", "--", wavetap, "device", "--json", **variables)
            assert done.returncode == 0, done
            return json.loads(done.stdout)

        first, second = device("rx6800xt"), device("rx6800xt")
        assert first["device"] == "cuda" and not first["cached"], first
        assert second["device"] == "cuda" and second["cached"] and second["reasons"] == first["reasons"], second
        changed = device("rx6800xt", AMD_SERIALIZE_KERNEL="3")
        assert not changed["cached"], changed
        other = device("rx5600xt-override")
        assert other["device"] == "cpu" and "gfx1030 code on gfx1010" in other["reasons"][0], other

        if not os.path.exists("/dev/kfd"):
            plain = run(wavetap, "device")
            assert plain.stdout == b"cpu\n" and plain.returncode == 0, plain
            code = "import wavetap; print(wavetap.get_device())"
            done = run(sys.executable, "-c", code)
            assert done.stdout == b"cpu\n" and b"/dev/kfd does not exist" in done.stderr, done
        done = run(wavetap, "run", "--gpu", "rx6800xt", "--no-trace", "--", sys.executable, "-W", "error", "-c",
                   "import wavetap.device as d; print(d.get_device())")
        assert done.stdout == b"cuda\n", done


if __name__ == "__main__":
    main()
