"""Builds the wheel of `polygrad`: the modules of `python/polygrad`, and the library in C, which cargo compiles.

A backend of PEP 517 without dependencies. The wheel is one for its platform, and for every Python from 3.10 on, since
ctypes loads the library. `POLYGRAD_LIBRARY` names a library that is already built.
"""

import base64
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "polygrad"


def version():
    text = (ROOT / "capi" / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "(.*)"', text, re.MULTILINE)[1]


def library():
    """The file of the library, built if none is named."""
    named = os.environ.get("POLYGRAD_LIBRARY")
    if named:
        return pathlib.Path(named)
    command = ["cargo", "build", "--release", "-p", "polygrad-capi", "--lib", "--features", "jit"]
    command.append("--message-format=json-render-diagnostics")
    try:
        built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    except FileNotFoundError:
        raise SystemExit("the wheel must be built by cargo, but there is none; install a Rust toolchain") from None
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["target"]["name"] == "polygrad_capi":
            for name in message["filenames"]:
                if name.endswith((".so", ".dylib", ".dll")):
                    return pathlib.Path(name)
    raise SystemExit("cargo must write a shared library, but it wrote none; read its messages")


def name_of_library():
    return {"Darwin": "libpolygrad_capi.dylib", "Windows": "polygrad_capi.dll"}.get(
        platform.system(), "libpolygrad_capi.so"
    )


def tag():
    return "py3-none-" + re.sub(r"[^a-zA-Z0-9_]", "_", sysconfig.get_platform())


def metadata():
    return f"""Metadata-Version: 2.1
Name: polygrad
Version: {version()}
Summary: Functions of JAX and StableHLO, compiled: values and derivatives of arrays of NumPy
License: MIT OR Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy>=1.24
Provides-Extra: jax
Requires-Dist: jax>=0.4.30; extra == "jax"
Provides-Extra: scipy
Requires-Dist: scipy>=1.11; extra == "scipy"
Description-Content-Type: text/markdown

""" + (ROOT / "docs" / "guide" / "from_python.md").read_text(encoding="utf-8")


def files(folder):
    """The files of the wheel: their names and contents."""
    for path in sorted(PACKAGE.iterdir()):
        if path.suffix in (".py", ".typed"):
            yield f"polygrad/{path.name}", path.read_bytes()
    yield f"polygrad/{name_of_library()}", library().read_bytes()
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        yield f"{folder}/{name}", (ROOT / name).read_bytes()
    yield f"{folder}/METADATA", metadata().encode()
    yield f"{folder}/WHEEL", f"Wheel-Version: 1.0\nGenerator: polygrad\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = f"polygrad-{version()}.dist-info"
    name = f"polygrad-{version()}-{tag()}.whl"
    record = ""
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files(folder):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(content)}\n"
            wheel.writestr(path, content)
        wheel.writestr(f"{folder}/RECORD", record + f"{folder}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("the package is built from a copy of the repository, and has no source distribution; pip install .")
