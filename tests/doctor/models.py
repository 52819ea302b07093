#!/usr/bin/env python3
"""The doctor on virtual GPUs: a sound one is healthy, and each that misbehaves is diagnosed by its symptoms.

  models.py --bin build/bin --shim build/shim [CASE…]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from other_users import folder_in_the_way  # noqa: E402


def doctor(arguments, model, *options, **environment):
    command = [arguments.bin / "wavetap", "run", "--gpu", model, "--no-trace", "--", arguments.bin / "wavetap", "doctor", "--json", *options]
    # The host's own variables are not the subject.
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HSA_", "HIP_", "ROCR_", "MIOPEN_"))}
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=600, env={**clean, **environment})
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{model}: no JSON: {done.stdout[-500:]!r} {done.stderr[-2000:].decode(errors='replace')}")
    if done.returncode != (0 if document["healthy"] else 2):
        sys.exit(f"{model}: exit status {done.returncode}")
    return document


def problems(document):
    return {f["id"] for f in document["findings"] if f["verdict"] == "error"}


def finding(document, identifier):
    return next((f for f in document["findings"] if f["id"] == identifier), None)


def outcomes(document):
    return {p["name"] + (f" ({p['condition']})" if p["condition"] else ""): p["outcome"] for p in document.get("trials", [])}


def expect(condition, what, document):
    if not condition:
        short = [(f["verdict"], f["id"], f["summary"]) for f in document["findings"] if f["verdict"] in ("error", "warning")]
        sys.exit(f"{what}\n" + "\n".join(map(str, short)) + "\n" + "\n".join(map(str, document.get("trials", []))))


def sound(arguments):
    """A sound GPU: every trial passes, and nothing about the GPU is a problem."""
    for model in ("rx6800xt", "mi210"):
        document = doctor(arguments, model, "--try")
        expect(not problems(document), f"{model}: errors on a sound GPU", document)
        bad = {name: outcome for name, outcome in outcomes(document).items() if outcome != "passed"}
        expect(not bad and len(outcomes(document)) >= 12, f"{model}: trials {bad}", document)
    injected = [f["summary"].split()[0] for f in document["findings"] if f["id"] == "environment.injected"]
    expect("LD_PRELOAD" in injected and "HSA_TOOLS_LIB" not in injected, f"our libraries are noted of {injected}", document)
    wgp = finding(doctor(arguments, "rx6800xt"), "truth.wgp")
    expect(wgp is None or "36" in wgp["summary"] and "72" in wgp["summary"], "the WGP count is explained", document)


def zluda(arguments):
    """The driver layer's lies are seen without the translation layer, and the layer's own with it."""
    document = doctor(arguments, "zluda-rx6800xt")
    lie = finding(document, "topology.figures")
    expect(lie and lie["verdict"] == "error", "no lie of the driver layer was found", document)
    for figure in ("target", "compute units", "peak clock MHz"):
        expect(figure in lie["summary"], f"the lie about {figure} was not found", document)
    document = doctor(arguments, "rx6800xt", LD_LIBRARY_PATH=str(arguments.shim))
    layer = finding(document, "truth.cuda")
    expect(layer and layer["verdict"] == "warning", "the translation layer was not found", document)
    seen = " ".join(e["source"] + " " + e["value"] for e in layer["evidence"])
    for figure in ("MULTIPROCESSOR_COUNT", "CLOCK_RATE", "COMPUTE_CAPABILITY", "sm_88"):
        expect(figure in seen, f"{figure} is not among the layer's lies", document)
    expect(finding(document, "rocm.translation-layer"), "the library was not recognised on disk", document)


def visible(arguments):
    """What a list of visible devices hides is what HSA and HIP then do not see, and the bad entry is named."""
    for variable, value, verdict, said in (
            ("HIP_VISIBLE_DEVICES", "", "note", "is empty"),
            ("CUDA_VISIBLE_DEVICES", "", "note", "is empty"),
            ("ROCR_VISIBLE_DEVICES", "", "error", "hides every GPU"),
            ("HIP_VISIBLE_DEVICES", "-1", "error", "hides every GPU"),
            ("HIP_VISIBLE_DEVICES", "garbage", "error", "`garbage` is not a GPU's index"),
            ("ROCR_VISIBLE_DEVICES", "garbage", "error", "`garbage` is neither a GPU's index nor its UUID"),
            ("CUDA_VISIBLE_DEVICES", "1", "error", "names GPU 1"),
            ("HIP_VISIBLE_DEVICES", "0,x", "warning", "`x` is not a GPU's index"),
            ("ROCR_VISIBLE_DEVICES", "GPU-{}", None, ""),
            ("HIP_VISIBLE_DEVICES", "0", None, "")):
        unique = "/sys/class/kfd/kfd/topology/nodes/1/properties"
        if "{}" in value:
            shown = subprocess.run([str(arguments.bin / "wavetap"), "run", "--gpu", "rx6800xt", "--no-trace", "--", "cat", unique],
                                   capture_output=True, timeout=60, check=True).stdout.decode()
            number = int(next(line.split()[1] for line in shown.splitlines() if line.startswith("unique_id")))
            value = value.format(f"{number:016x}")
        document = doctor(arguments, "rx6800xt", **{variable: value})
        hidden = finding(document, "environment.hidden")
        what = f"{variable}={value}: {hidden}"
        expect((hidden["verdict"] if hidden else None) == verdict and (not hidden or said in hidden["summary"]), what, document)
        seen = {layer["layer"]: len(layer["devices"]) for layer in document["layers"]}
        expect((seen["HIP"] == 0) == (verdict == "error"), f"{what}: {seen}", document)
        # The layers' own findings add nothing where the variable explains it.
        expect(verdict != "error" or problems(document) == {"environment.hidden"}, what, document)


def override(arguments):
    """gfx1030 code on gfx1010: simple kernels pass, convolutions die, and do not without the override."""
    document = doctor(arguments, "rx5600xt-override", "--try")
    expect("override.unsafe" in problems(document), "the override was not called unsafe", document)
    expect("trials.override" in problems(document), "the trials were not explained by the override", document)
    results = outcomes(document)
    expect(results["saxpy"] == "passed" and results["conv"] == "died" and results["conv (without the override)"] == "passed", f"{results}", document)
    expect("illegal instruction" in " ".join(p["text"] for p in document["trials"]), "the death was not decoded", document)


def ecc(arguments):
    document = doctor(arguments, "ecc-errors")
    expect("health.ecc" in problems(document), "memory errors were not found", document)
    expect("3 uncorrectable" in finding(document, "health.ecc")["summary"], "the count is missing", document)


def hang(arguments):
    document = doctor(arguments, "hang", "--try")
    expect("trials.hang" in problems(document), "the hang was not found", document)
    expect(outcomes(document)["copy-engine"] == "passed" and outcomes(document)["saxpy"] == "hung", f"{outcomes(document)}", document)


def sdma(arguments):
    document = doctor(arguments, "sdma-broken", "--try")
    expect("trials.sdma-broken" in problems(document), "the copy engine was not suspected", document)
    remedy = finding(document, "trials.sdma-broken")["remedies"][0]
    expect(remedy == {"kind": "set", "text": "HSA_ENABLE_SDMA=0"}, f"{remedy}", document)
    expect(not problems(document) - {"trials.sdma-broken"}, "more was blamed than is broken", document)


def redirects(arguments):
    """A program that knows CUDA only, on a translation layer: each level counted, the chain named."""
    variables = dict(os.environ, LD_LIBRARY_PATH=str(arguments.shim))
    command = [arguments.bin / "wavetap", "run", "--gpu", "rx6800xt", "--no-trace", "--",
               arguments.bin / "wavetap", "doctor", "--json", "--redirects", "--", arguments.shim / "cuda_user"]
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=300, env=variables)
    line, _, rest = done.stdout.decode().partition("\n")
    if line != "multiprocessors 18, copies right":
        sys.exit(f"the program did not run as without: {done}")
    document = json.loads(rest)
    chain = finding(document, "redirects.translated")
    expect(chain and "cuda_user -> libcuda.so.1 -> libamdhip64" in chain["evidence"][0]["value"], "the chain was not found", document)
    calls = {}
    for row in document["redirects"]:
        calls[row["function"], pathlib.Path(row["from"]).name] = row["calls"]
    expect(calls["cuMemcpyHtoD_v2", "cuda_user"] == 5 and calls["cuInit", "cuda_user"] == 1, f"CUDA calls {calls}", document)
    expect(calls["hipMemcpy", "libcuda.so.1"] == 10, f"HIP calls {calls}", document)
    expect(any(row["layer"] == "HSA" and row["calls"] for row in document["redirects"]), "no HSA call was counted", document)
    expect(finding(document, "redirects.no-launch"), "the missing launch was not noted", document)
    expect(not finding(document, "redirects.cpu-fallback"), "nothing was launched", document)

    # Two launches reach the GPU, three are carried out by the layer.
    done = subprocess.run([*map(str, command), str(arguments.bin / "hip/module_kernels.co")], capture_output=True, timeout=300, env=variables)
    line, _, rest = done.stdout.decode().partition("\n")
    if line != "multiprocessors 18, copies right":
        sys.exit(f"the program did not run as without: {done}")
    document = json.loads(rest)
    fallback = finding(document, "redirects.cpu-fallback")
    expect(fallback and fallback["summary"] == "3 of 5 CUDA launches did not reach HIP", f"{fallback}", document)
    counts = finding(document, "redirects.translated")["evidence"][1]["value"]
    expect("(5 launches)" in counts and "(2 launches)" in counts, counts, document)


def correction(arguments):
    """The lies of a layer and of the driver, put right for one program."""
    def run(model, *options):
        command = [arguments.bin / "wavetap", "run", "--gpu", model, "--no-trace", *options, "--", arguments.shim / "cuda_user"]
        done = subprocess.run(list(map(str, command)), capture_output=True, timeout=300, env=dict(os.environ, LD_LIBRARY_PATH=str(arguments.shim)))
        return done.stdout.decode().split(",")[0], done.stderr.decode()

    for model, options, expected, said in (
            ("rx6800xt", [], "multiprocessors 18", ""),
            ("rx6800xt", ["--correct-device"], "multiprocessors 36", "(AMD Radeon RX 6800 XT): the program sees multiprocessors=36"),
            ("zluda-rx6800xt", ["--correct-device"], "multiprocessors 36", "clock-mhz=2575"),
            ("rx6800xt", ["--correct-device=multiprocessors=72"], "multiprocessors 72", ": 72 multiprocessors are more than the 36 WGPs"),
            ("rx6800xt", ["--correct-device=multiprocessor=72"], "", "error: --correct-device=multiprocessor=72: not FIELD=NUMBER")):
        output, errors = run(model, *options)
        if output.strip() != expected or said not in errors:
            sys.exit(f"{model} {options}: {output!r}, {errors!r}")


def libraries(arguments):
    """What a program loads and what a running process maps: path, soname, build-id, version."""
    variables = dict(os.environ, LD_LIBRARY_PATH=str(arguments.shim))
    command = [arguments.bin / "wavetap", "run", "--gpu", "rx6800xt", "--no-trace", "--",
               arguments.bin / "wavetap", "doctor", "--json", "--", arguments.shim / "cuda_user"]
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=300, env=variables)
    text = done.stdout.decode()
    document = json.loads(text[text.index("\n{"):])  # behind what the program prints
    expect(finding(document, "libraries.translation-layer"), "the layer was not seen in the process", document)
    listed = {pathlib.Path(e["source"]).name.split(".so")[0]: e["value"] for e in finding(document, "libraries")["evidence"]}
    expect(set(listed) == {"libcuda", "libamdhip64", "libhsa-runtime64"}, f"{listed}", document)
    expect("soname libamdhip64.so." in listed["libamdhip64"] and "build-id" in listed["libamdhip64"], f"{listed}", document)

    waiting = "import ctypes, sys; ctypes.CDLL('libhsa-runtime64.so.1'); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        done = subprocess.run([str(arguments.bin / "wavetap"), "doctor", "--json", "--pid", str(process.pid)], capture_output=True, timeout=60)
        process.stdin.close()
    listed = finding(json.loads(done.stdout), "libraries")
    expect("libhsa-runtime64" in listed["evidence"][0]["source"], f"{listed}", json.loads(done.stdout))
    done = subprocess.run([str(arguments.bin / "wavetap"), "doctor", "--pid", "999999999"], capture_output=True, timeout=60)
    if done.returncode != 1 or b"/proc/999999999/maps: not there" not in done.stderr:
        sys.exit(f"{done}")


def unprivileged(arguments):
    """An ordinary user gets the same answers; what only root may read is unknown, with the reason."""
    if os.geteuid() != 0:
        return  # all other cases ran that way
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.endswith("SAN_OPTIONS")}

    def run(**who):
        command = [arguments.bin / "wavetap", "run", "--gpu", "rx6800xt", "--no-trace", "--", arguments.bin / "wavetap", "doctor", "--json"]
        done = subprocess.run(list(map(str, command)), capture_output=True, timeout=300, cwd="/", env=kept, **who)
        if done.returncode not in (0, 2) or done.stderr:
            sys.exit(f"{done}")
        return json.loads(done.stdout)
    if closed := folder_in_the_way(arguments.bin):
        print(f"unprivileged: no other user can reach what is below {closed}; left out")
        return
    as_root, as_nobody = run(), run(user=65534, group=65534, extra_groups=[])
    expect(problems(as_nobody) == problems(as_root), "other problems than root's", as_nobody)
    expect(as_nobody["layers"][1]["devices"] == as_root["layers"][1]["devices"] != [], "HIP has no GPU", as_nobody)
    for item in as_nobody["findings"]:
        expect(item["verdict"] != "unknown" or item["evidence"], f"{item}: no reason", as_nobody)


CASES = {"libraries": libraries, "unprivileged": unprivileged, "redirects": redirects, "correction": correction, "sound": sound, "visible": visible, "zluda": zluda, "override": override, "ecc": ecc, "hang": hang, "sdma": sdma}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--shim", type=pathlib.Path, required=True)
    parser.add_argument("--without", choices=CASES, action="append", default=[])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    arguments = parser.parse_args()
    arguments.bin, arguments.shim = arguments.bin.resolve(), arguments.shim.resolve()
    for name in arguments.cases or CASES:
        if name in arguments.without:
            continue
        CASES[name](arguments)
        print(f"{name}: as expected")


if __name__ == "__main__":
    main()
