#!/usr/bin/env python3
"""Traces and device truth: what is recorded of each GPU, what `report` makes of it, figures corrected for a program, and
`run --require-gpu`.

  recorded.py --bin build/bin --shim build/shim [CASE…]
"""
import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import json_schema  # noqa: E402

LAYERS = {"driver", "hsa", "hip"}


class Recorder:
    def __init__(self, bin_folder, shim, folder):
        self.wavetap, self.bin, self.shim = str(bin_folder / "wavetap"), bin_folder, shim
        self.trace = str(pathlib.Path(folder) / "trace.rpd")

    def run(self, model, options, program, library_path="", **variables):
        """Exit status, standard output and error of a program under `wavetap run`."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("HSA_", "HIP_", "ROCR_", "GPU_", "CUDA_"))}
        folders = os.pathsep.join(filter(None, [str(self.shim / library_path) if library_path is not None else "", os.environ.get("LD_LIBRARY_PATH")]))
        command = [self.wavetap, "run", *(["--gpu", model] if model else []), *options, "--", *map(str, program)]
        done = subprocess.run(command, capture_output=True, timeout=300, env={**clean, "LD_LIBRARY_PATH": folders, **variables})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def record(self, model, program, *options, **variables):
        status, output, errors = self.run(model, ["-o", self.trace, *options], program, **variables)
        if status != 0:
            sys.exit(f"{model} {program}: exit status {status}\n{errors}")
        return output, errors

    def query(self, sql):
        with sqlite3.connect(f"file:{self.trace}?mode=ro", uri=True) as database:
            return database.execute(sql).fetchall()

    def figures(self, gpu):
        """{layer: {field: value}} of one GPU."""
        layers = {}
        for layer, field, value in self.query(f"select layer, field, value from wavetap_device_figure where gpuId = {gpu}"):
            layers.setdefault(layer, {})[field] = value
        return layers

    def report(self):
        """The report as JSON, after its text was seen to hold the same warnings; the trace must be sound."""
        checked = subprocess.run([self.wavetap, "check", self.trace], capture_output=True, timeout=60)
        if checked.returncode != 0:
            sys.exit(f"the trace is not sound: {checked.stdout.decode()}")
        document = json.loads(subprocess.run([self.wavetap, "report", self.trace, "--json"], capture_output=True, timeout=60, check=True).stdout)
        text = subprocess.run([self.wavetap, "report", self.trace], capture_output=True, timeout=60, check=True).stdout.decode()
        flat = " ".join(text.split())
        for warning in document["warnings"]:
            expect("warning: " + " ".join(warning.split()) in flat, "the text lacks a warning", text)
        for table, title in (("device_figures", "GPUs, layer by layer"), ("corrected_figures", "Device figures corrected")):
            expect((table in document["tables"]) == (title in text), f"text and JSON differ about {table}", text)
            for row in document["tables"].get(table, []):
                expect(set(row) == set(json_schema.documented()["report"][1][table][1]), f"{table} is not as docs/json-schema.md says", row)
        return document


def expect(condition, what, *seen):
    if not condition:
        sys.exit("\n".join([what, *map(str, seen)]))


def about_devices(document):
    return [warning for warning in document["warnings"] if "device figures" in warning]


def require_gpu(r):
    """A program must have dispatched a kernel of its own, in whichever process."""
    saxpy, hip_user = r.bin / "hip/example_saxpy", r.shim / "hip_user"
    none = "dispatched no kernel"
    for program, expected, said in (
            ([saxpy], 0, ""), (["sh", "-c", f"{saxpy}; :"], 0, ""),
            ([hip_user], 2, none), ([hip_user, "copy"], 2, none), ([hip_user, "memset"], 2, none), (["true"], 2, none),
            (["sh", "-c", f"{hip_user} copy; exit 7"], 7, ""), (["sh", "-c", "kill -TERM $$"], 143, "")):
        status, _, errors = r.run("rx6800xt", ["-o", r.trace, "--require-gpu"], program)
        expect(status == expected and said in errors and (none in errors) == (said == none), f"{program}: {status}", errors)
    for option in ("--no-trace", "--start-paused"):
        status, output, errors = r.run("rx6800xt", ["--require-gpu", option], ["echo", "started"])
        expect(status == 1 and output == "" and f"leave out {option}" in errors, f"{option}: {status}", output, errors)


def agreeing(r):
    """Sound GPUs: every layer's figures are in the trace, and the report says nothing about them."""
    r.record("rx6800xt,mi210", [r.shim / "hip_user"])
    navi, cdna = r.figures(0), r.figures(1)
    expect(set(navi) == LAYERS == set(cdna), "layers", navi.keys(), cdna.keys())
    expect(navi["driver"]["simd_count"] == "144" and navi["driver"]["gfx_target_version"] == "100300", "driver", navi["driver"])
    expect(navi["driver"]["mem_banks/0/size_in_bytes"] == navi["hsa"]["vram_bytes"], "memory", navi)
    expect(navi["hsa"]["arch"] == "gfx1030" and navi["hsa"]["compute_units"] == "72" and navi["hsa"]["lds_bytes"] == "65536", "HSA", navi["hsa"])
    expect(navi["hip"]["arch"].startswith("gfx1030") and navi["hip"]["wave_size"] == "32", "HIP", navi["hip"])
    expect(cdna["hsa"]["arch"] == "gfx90a" and cdna["hip"]["arch"].startswith("gfx90a") and cdna["hip"]["wave_size"] == "64", "the other GPU", cdna)
    expect(cdna["hip"]["multiprocessors"] == cdna["hsa"]["compute_units"] == "104", "the other GPU", cdna)
    document = r.report()
    expect(not about_devices(document) and "device_figures" not in document["tables"] and "corrected_figures" not in document["tables"], "not silent", document)
    # Variables that change the figures; both counts are right.
    r.record("rx6800xt", [r.shim / "hip_user"], GPU_ENABLE_WGP_MODE="0", HIP_VISIBLE_DEVICES="0")
    variables = dict(r.query("select field, value from wavetap_device_figure where layer = 'environment'"))
    expect(variables == {"GPU_ENABLE_WGP_MODE": "0", "HIP_VISIBLE_DEVICES": "0"}, "environment", variables)
    expect(not about_devices(r.report()), "not silent", r.report())


def unasked(r):
    """A program that never asks about devices: HIP is asked once it has made a queue. One without HIP has no such figures."""
    r.record("mi210", [r.bin / "hip/example_saxpy"])
    figures = r.figures(0)
    expect(set(figures) == LAYERS and figures["hip"]["multiprocessors"] == "104", "layers", figures)
    expect(r.query("select count(*) from api where apiName like 'hipGetDevice%'") == [(0,)], "the program's calls are its own")
    r.record("mi210", ["rocminfo"])
    expect(set(r.figures(0)) == {"driver", "hsa"}, "layers", r.figures(0))
    r.record("mi210", ["true"])
    expect(r.query("select count(*) from wavetap_device_figure") == [(0,)], "no GPU was used")


def children(r):
    """Processes that are told the same say it once; a GPU hidden from one is not taken for another."""
    user = r.shim / "hip_user"
    r.record("rx6800xt,mi210", ["sh", "-c", f"{user} && {user}"])
    expect(r.query("select count(distinct pid) from wavetap_device_figure") == [(1,)], "said twice")
    r.record("rx6800xt,mi210", ["sh", "-c", f"{user} && HIP_VISIBLE_DEVICES=1 {user}"])
    expect(r.query("select count(distinct pid) from wavetap_device_figure") == [(2,)], "said once")
    archs = r.query("select distinct gpuId, substr(value, 1, 6) from wavetap_device_figure where layer = 'hip' and field = 'arch' order by 1")
    expect(archs == [(0, "gfx103"), (1, "gfx90a")], "HIP's device 0 was taken for the first GPU", archs)


def lying(r):
    """A driver layer that lies, and an override that is not safe: the report warns and shows the figures."""
    r.record("zluda-rx6800xt", [r.shim / "hip_user"])
    document = r.report()
    warnings = about_devices(document)
    expect(any("the driver layer misreports target, compute units, peak clock MHz" in w and "published 72" in w for w in warnings), "the lie", warnings)
    rows = {row["figure"]: row for row in document["tables"]["device_figures"]}
    expect(rows["target"]["published"] == "gfx1030" and rows["target"]["driver"] == "gfx1031", "the figures", rows)
    expect(rows["peak clock MHz"]["published"] == "2575" and rows["peak clock MHz"]["driver"] == "1200", "the figures", rows)
    # A file made of two says it still, of the right GPU.
    lie = r.trace + ".lie"
    os.rename(r.trace, lie)
    r.record("rx6800xt", [r.shim / "hip_user"])
    truth, r.trace = r.trace, r.trace + ".merged"
    subprocess.run([r.wavetap, "merge", truth, lie, "-o", r.trace], check=True, timeout=60, capture_output=True)
    document = r.report()
    expect(about_devices(document) == warnings, "merged", about_devices(document), warnings)
    devices = {row["gpu"] for row in document["tables"]["device_figures"]}
    expect(devices == {id for id, in r.query("select id from wavetap_device where clock_mhz = 1200")}, "the wrong GPU is blamed", devices)
    r.record("rx5600xt-override", [r.shim / "hip_user"])
    warnings = about_devices(r.report())
    expect(any("HSA_OVERRIDE_GFX_VERSION=10.3.0 runs gfx1030 code on gfx1010 hardware" in w and "Symptom" in w for w in warnings), "the override", warnings)
    r.record("rx5600xt", [r.shim / "hip_user"])
    expect(not about_devices(r.report()), "not silent", r.report())


def lines(output):
    return {tuple(line.split(" ", 2)[:2]): line.split(" ", 2)[2] for line in output.splitlines()}


def corrected(r):
    """Every function that tells figures, with and without a trace; each GPU has its own."""
    hip_user, cudart_user, hip6_user = r.shim / "hip_user", r.shim / "cudart_user", r.shim / "hip6_user"
    for options in (["--no-trace"], ["-o", r.trace]):
        status, output, errors = r.run("zluda-rx6800xt,mi210", [*options, "--correct-device"], [hip_user])
        said = lines(output)
        expect(status == 0 and said["0", "properties"].startswith("36 2575 32 65536 gfx1030"), f"{options}: HIP", output, errors)
        expect(said["0", "attributes"] == "36 2575 32 65536" and said["1", "attributes"] == "104 1700 64 65536", f"{options}: HIP", output)
        expect(said["1", "properties"].startswith("104 1700 64 65536 gfx90a:"), f"{options}: the other GPU", output)
        expect("Radeon RX 6800 XT): the program sees multiprocessors=36," in errors and "Instinct MI210): the program sees multiprocessors=104," in errors, "banner", errors)

        # Looked up by name, from a library the program opens for itself.
        lookup = ("import ctypes, ctypes.util; h = ctypes.CDLL(ctypes.util.find_library('amdhip64')); n = ctypes.c_int(); p = ctypes.create_string_buffer(4096); "
                  "a = h.hipDeviceGetAttribute(ctypes.byref(n), 63, 0), h.hipGetDeviceProperties(p, 0); h.hipDeviceSynchronize(); "
                  "print(*a, n.value, int.from_bytes(p[336:340], 'little'))")
        status, output, errors = r.run("zluda-rx6800xt", [*options, "--correct-device"], [sys.executable, "-c", lookup])
        expect(status == 0 and output == "0 0 36 36\n", f"{options}: dlsym", output, errors)
        if "-o" in options:
            calls = r.query("select count(*) from api where apiName = 'hipDeviceSynchronize'")
            expect(calls == [(1,)], "the recorder does not see what was looked up", calls)

        status, output, errors = r.run("rx6800xt", [*options, "--correct-device"], [cudart_user])
        expect(status == 0 and set(output.splitlines()) == {"0 properties 36 2575 32", "0 attributes 36 2575 32"}, f"{options}: CUDA", output, errors)

        # Layouts this machine's HIP does not have, on a HIP of our own.
        options6 = [*options, "--correct-device=multiprocessors=20,clock-mhz=1000,arch=gfx1030"]
        status, output, errors = r.run("", options6, [hip6_user], library_path="hip6", WT_FAKE_PCI="0000:03:00.0,0000:04:00.0")
        expected = {(str(d), name): "20 1000 64 gfx1030:xnack-" for d in (0, 1) for name in ("R0600", "R0000")}
        expected.update({(str(d), "attributes"): "20 1000 -1" for d in (0, 1)})
        expect(status == 0 and lines(output) == expected, f"{options}: HIP 6", output, errors)
    # Sets for single GPUs go by place, not by number.
    status, output, _ = r.run("", ["--no-trace"], [hip6_user], library_path="hip6", WT_FAKE_PCI="0000:03:00.0,0000:04:00.0",
                              LD_PRELOAD=str(r.bin.parent / "lib/libwavetap_correct.so"), WAVETAP_CORRECT="@0000:04:00.0 multiprocessors=99")
    expect(lines(output)["0", "attributes"] == "18 1200 -1" and lines(output)["1", "attributes"] == "99 1200 -1", "by place", output)


def correction_recorded(r):
    """Original and corrected values are in the trace and in the report; what breaks programs is warned about."""
    r.record("zluda-rx6800xt", [r.shim / "hip_user"], "--correct-device")
    document = r.report()
    rows = {row["figure"]: (row["original"], row["told"]) for row in document["tables"]["corrected_figures"] if row["layer"] == "hip"}
    expect(rows["clock_mhz"] == ("1200", "2575") and rows["multiprocessors"][1] == "36", "HIP", rows)
    expect(not any("corrected device figures" in w for w in document["warnings"]), "nothing breaks", document["warnings"])

    _, errors = r.record("rx6800xt", [r.shim / "cudart_user"], "--correct-device=multiprocessors=72,wave-size=64,lds-bytes=131072,arch=gfx1100")
    for text in ("72 multiprocessors are more than the 36", "a wave size of 64", "131072 bytes of LDS", "arch gfx1100"):
        expect(text in errors, f"no warning of {text}", errors)
    document = r.report()
    rows = {(row["layer"], row["figure"]): (row["original"], row["told"]) for row in document["tables"]["corrected_figures"]}
    expect(rows["cuda", "multiprocessors"][1] == "72" and rows["cuda", "multiprocessors"][0] != "72", "CUDA", rows)
    expect(rows["cuda", "wave_size"] == ("32", "64"), "CUDA", rows)
    expect(any("72 multiprocessors are more than the 36" in w for w in document["warnings"]), "the report does not warn", document["warnings"])
    expect(r.query("select count(*) from api where apiName = 'hipDeviceGetPCIBusId'") == [(0,)], "a call of ours was recorded")
    expect(r.query("select count(*) from rocpd_api a join rocpd_ustring u on u.id = a.args_id where u.string like '%corrected%'") == [(0,)], "markers are the program's")

    # HIP counts compute units when told to; so do the corrected figures.
    output, errors = r.record("rx6800xt", [r.shim / "hip_user"], "--correct-device", GPU_ENABLE_WGP_MODE="0")
    expect(lines(output)["0", "attributes"].startswith("72 ") and "multiprocessors=72" in errors, "compute units", output, errors)
    # With an override in force the name of the target stays the one whose code is loaded.
    output, _ = r.record("rx5600xt-override", [r.shim / "hip_user"], "--correct-device")
    expect("gfx1030" in lines(output)["0", "properties"], "the override's target", output)
    status, _, errors = r.run("", ["--no-trace", "--correct-device"], ["true"])
    if not os.path.exists("/dev/kfd"):
        expect(status == 1 and "no GPU that is in the device database" in errors, "a machine without GPU", errors)


CASES = {case.__name__: case for case in (require_gpu, agreeing, unasked, children, lying, corrected, correction_recorded)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--shim", type=pathlib.Path, required=True)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    arguments = parser.parse_args()
    for name in arguments.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            CASES[name](Recorder(arguments.bin.resolve(), arguments.shim.resolve(), folder))
        print(f"{name}: as expected")


if __name__ == "__main__":
    main()
