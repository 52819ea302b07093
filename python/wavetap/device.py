"""Which device a program should use, found by running a kernel in a child process.

    import wavetap.device
    model.to(wavetap.device.get_device())

A GPU that is present and does not work makes most programs crash or, worse, fall back to the CPU without a word.
get_device() asks `wavetap device`, which tries the GPU and remembers the answer until the machine changes.
"""
import json
import os
import pathlib
import shutil
import subprocess
import warnings


def program():
    """The path of the wavetap program: $WAVETAP, beside this package, or in PATH."""
    named = os.environ.get("WAVETAP")
    if named:
        return named
    for folder in pathlib.Path(__file__).resolve().parents:
        for place in (folder / "bin" / "wavetap", folder / "build" / "bin" / "wavetap"):
            if os.access(place, os.X_OK) and place.is_file():
                return str(place)
    return shutil.which("wavetap") or "wavetap"


def explain_device(timeout=60):
    """The whole answer of `wavetap device --json`: device, reasons, cached."""
    try:
        done = subprocess.run([program(), "device", "--json"], capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL, check=True)
        answer = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return {"device": "cpu", "reasons": [f"wavetap device: {error}"], "cached": False}
    if answer.get("device") not in ("cuda", "cpu"):
        return {"device": "cpu", "reasons": ["wavetap device: an answer this package does not know"], "cached": False}
    return answer


def get_device(warn=True):
    """"cuda" when a kernel ran on the GPU, else "cpu", with a warning that says why. A string torch.device() takes."""
    answer = explain_device()
    if answer["device"] == "cpu" and warn:
        warnings.warn("no usable GPU: " + "; ".join(answer["reasons"]), RuntimeWarning, stacklevel=2)
    return answer["device"]
