"""wavetap from Python.

    import wavetap

    trace = wavetap.open("trace.rpd")            # read a recording: rows, data frames, analyses
    for op in trace.ops.rows():
        print(op.description, op.end - op.start)

    file = wavetap.open_capture("saxpy.wtcap")   # a captured dispatch: arguments and buffers, and running it again
    replay = file[0].replay()
    replay.run()

Everything is loaded on first use, so importing the package costs nothing and needs no library.
"""

_HOMES = {"open": "trace", "Trace": "trace", "Table": "trace", "get_device": "device", "open_capture": "capture",
          "CaptureError": "capture"}


def __getattr__(name):
    import importlib

    home = _HOMES.get(name)
    if home is not None:
        return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    # What controls a recording lives in its own module.
    try:
        control = importlib.import_module(f"{__name__}.control")
    except ModuleNotFoundError:
        control = None
    if control is not None and not name.startswith("_") and hasattr(control, name):
        return getattr(control, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(list(globals()) + list(_HOMES))
