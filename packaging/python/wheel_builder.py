"""Makes a wheel of python/, the libraries of build/lib and the GPU models they look for, for pip (the hooks of PEP 517 and PEP 660).

A wheel is a zip file with the package's files, and a folder that says what they are. Writing it takes less than what
a general builder would have to be told, and nothing that is not on the machine already.

The libraries come from the build folder: build/ beside pyproject.toml, or WAVETAP_BUILD. Without them the wheel holds
Python alone, and finds the libraries of an installed wavetap.
"""
import base64
import hashlib
import os
import pathlib
import re
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ("libwavetap.so", "libwavetap_trace.so.1", "libwavetap_capture.so.1")
SUMMARY = "Record what a ROCm program does on its GPU, and read the recordings"


def version():
    return re.search(r"project\(wavetap VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def build_folder():
    return pathlib.Path(os.environ.get("WAVETAP_BUILD", ROOT / "build"))


def libraries():
    found = [build_folder() / "lib" / name for name in LIBRARIES]
    return found if all(path.exists() for path in found) else []


def models():
    """The published figures of GPUs, which a report holds against what a program was told."""
    return sorted((build_folder() / "share/wavetap/models").glob("*.gpu")) if libraries() else []


def tag(native):
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_") if native else "any"
    return f"py3-none-{platform}"


def metadata():
    return (f"Metadata-Version: 2.1\nName: wavetap\nVersion: {version()}\nSummary: {SUMMARY}\nLicense: MIT\n"
            f"Requires-Python: >=3.9\nProvides-Extra: frames\nRequires-Dist: pandas; extra == 'frames'\n")


def write_wheel(folder, files, native):
    """files: {path in the wheel: content}. The name of the wheel."""
    info = f"wavetap-{version()}.dist-info"
    files = {**files, f"{info}/METADATA": metadata().encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: wavetap\nRoot-Is-Purelib: {str(not native).lower()}\n"
                              f"Tag: {tag(native)}\n".encode(),
             f"{info}/top_level.txt": b"rpdTracerControl\nwavetap\n"}
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    name = f"wavetap-{version()}-{tag(native)}.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return name


# ---- hooks -----------------------------------------------------------------------------------------

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {path.relative_to(ROOT / "python").as_posix(): path.read_bytes()
             for path in sorted((ROOT / "python").rglob("*.py"))}
    files |= {f"wavetap/lib/{path.name}": path.read_bytes() for path in libraries()}
    files |= {f"wavetap/share/wavetap/models/{path.name}": path.read_bytes() for path in models()}
    return write_wheel(wheel_directory, files, native=bool(libraries()))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Python finds the package where it is written; it finds the libraries in build/ by itself."""
    return write_wheel(wheel_directory, {"wavetap.pth": f"{ROOT / 'python'}\n".encode()}, native=False)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("there is no source distribution of the Python package alone; use the repository")
