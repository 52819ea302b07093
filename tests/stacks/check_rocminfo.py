#!/usr/bin/env python3
"""Holds the output of rocminfo (standard input) against model files.

    rocminfo | check_rocminfo.py MODEL_FILE...

The GPU agents must be exactly the models, in order, each with the model's figures. Prints what differs;
exit status 1 if anything does.
"""

import re
import sys


def read_model(path):
    values = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, equals, value = line.split("#")[0].partition("=")
            if equals:
                values[key.strip()] = value.strip()
    return values


def gpu_agents(text):
    """The first value of each "Key: value" line of every agent that is a GPU."""
    agents = []
    for section in re.split(r"\*+\s*\nAgent \d+\s*\n\*+\s*\n", text)[1:]:
        agent = {}
        for key, value in re.findall(r"^\s*([^:\n]+):[ \t]*(.*?)\s*$", section, re.M):
            agent.setdefault(key, value)
        pools = re.findall(r"Segment:\s+GLOBAL; FLAGS: COARSE GRAINED\s*\n\s*Size:\s+(\d+)", section)
        agent["VRAM (KB)"] = pools[0] if pools else "none"
        if agent.get("Device Type") == "GPU":
            agents.append(agent)
    return agents


def expected(model):
    """What each line may say; where ROCr's generations differ, a tuple."""
    engines = int(model["shader_engines"])
    arrays = engines * int(model["shader_arrays_per_engine"])
    return {
        "Name": model["target"],
        "Marketing Name": model["marketing_name"],
        "Compute Unit": model["compute_units"],
        "SIMDs per CU": model["simds_per_cu"],
        "Shader Engines": (str(engines), str(arrays)),  # ROCr 5 counts the arrays
        "Max Clock Freq. (MHz)": model["engine_clock_mhz"],
        "Wavefront Size": model["wave_size"],
        "Chip ID": str(int(model["pci.device_id"], 0)),
        "VRAM (KB)": str(int(model["vram.mib"]) * 1024),
    }


def main(paths):
    agents = gpu_agents(sys.stdin.read())
    models = [read_model(path) for path in paths]
    wrong = 0
    if len(agents) != len(models):
        print(f"FAIL {len(agents)} GPU agents, want {len(models)}")
        wrong += 1
    for agent, model in zip(agents, models):
        for key, want in expected(model).items():
            got = re.sub(r"\(0x[0-9a-f]+\)$", "", agent.get(key, "missing"))  # 32(0x20)
            allowed = want if isinstance(want, tuple) else (want,)
            if got not in allowed:
                print(f"FAIL {model['target']}: {key} is {got}, want {' or '.join(allowed)}")
                wrong += 1
    if wrong == 0:
        print(f"PASS {', '.join(agent['Marketing Name'] for agent in agents)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
