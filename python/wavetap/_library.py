"""Where wavetap's shared libraries are."""
import ctypes
import os
import pathlib
import shutil


def candidates(name):
    """Folders in which NAME may lie, most specific first: WAVETAP_LIB, the package itself (installed by pip), the tree
    this package belongs to (build or installed), the tree of the wavetap program in PATH."""
    if os.environ.get("WAVETAP_LIB"):
        yield pathlib.Path(os.environ["WAVETAP_LIB"]) / name
    here = pathlib.Path(__file__).resolve()
    yield here.parent / "lib" / name
    yield here.parents[2] / "build" / "lib" / name    # <source>/python/wavetap
    if len(here.parents) > 4:
        yield here.parents[3] / name                  # <prefix>/lib/python3/dist-packages/wavetap
    program = shutil.which("wavetap")
    if program:
        yield pathlib.Path(program).resolve().parent.parent / "lib" / name


def load(name):
    """The library as a ctypes.CDLL. ImportError says where it was looked for."""
    tried = []
    for path in candidates(name):
        if path.exists():
            return ctypes.CDLL(str(path))
        tried.append(str(path))
    try:
        return ctypes.CDLL(name)  # the dynamic linker's own folders
    except OSError:
        raise ImportError(f"{name}: not found; set WAVETAP_LIB to its folder (looked for {', '.join(tried)})") from None
