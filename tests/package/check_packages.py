"""Installs each package in bare roots without a compiler, records and replays there, removes it, and looks for remains.

usage: check_packages.py PACKAGES ROOT...
PACKAGES is the directory that `./dev package` fills. A ROOT is a directory or a tarball of a Debian, as
`mmdebstrap --variant=apt` makes it; it is copied and stays as it was. Wheels need python3-venv: where the root lacks it, apt-get
installs it, over the network. Needs root, or user namespaces with ids of their own (/etc/subuid).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

INSIDE = "HEAPTAPE_CHECK_INSIDE"  # set in the namespaces that the check has made for itself
OWN_LOGS = ("var/log/dpkg.log", "var/lib/dpkg/", "var/cache/ldconfig/")  # dpkg's, of any package
NOT_LOOKED_AT = {"proc", "dev", "sys", "tmp", "run", "packages"}
SHARED = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "/lib64/ld-linux-x86-64.so.2"}


class Failure(Exception):
    """A sentence."""


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


class Root:
    """A copy of a root, in which commands run."""

    def __init__(self, source, directory, packages):
        self.directory = directory
        copy = ["cp", "-a", f"{source}/.", directory] if source.is_dir() else \
            ["tar", "-C", directory, "--exclude=./dev/*", "-xf", source]
        subprocess.run(copy, check=True)
        shutil.copytree(packages, directory / "packages", ignore=lambda *_: ["stage"])
        mount("-t", "proc", "proc", directory / "proc")
        mount("-t", "tmpfs", "tmpfs", directory / "dev")
        (directory / "dev/shm").mkdir()
        for name in ("null", "zero", "full", "random", "urandom"):  # each alone: to remove the root must harm no device
            (directory / "dev" / name).touch()
            mount("--bind", f"/dev/{name}", directory / "dev" / name)
        if os.path.exists("/etc/resolv.conf"):
            shutil.copy("/etc/resolv.conf", directory / "etc/resolv.conf")

    def try_to(self, script):
        """Status and output of a shell script."""
        done = subprocess.run(["chroot", self.directory, "/bin/sh", "-euc", script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, text=True,
                              env={**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                                   "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})
        return done.returncode, done.stdout

    def run(self, script):
        status, output = self.try_to(script)
        if status != 0:
            raise Failure(f"`{script}` ended with {status}: {output}")
        return output

    def refuses(self, script, part):
        """One sentence with `part` in it, and the status 2."""
        status, output = self.try_to(script)
        if status != 2 or part not in output or output.count("\n") != 1:
            raise Failure(f"`{script}` ended with {status} and said: {output}")

    def files(self):
        found = set()
        for directory, directories, files in os.walk(self.directory):
            if pathlib.Path(directory) == self.directory:
                directories[:] = [name for name in directories if name not in NOT_LOOKED_AT]
            found |= {os.path.relpath(os.path.join(directory, name), self.directory) for name in directories + files}
        return {path for path in found if not path.startswith(OWN_LOGS)}


def record(heaptape, tape):
    return f"{heaptape} record --force -o {tape} -- /usr/bin/sort -r /etc/passwd >/dev/null && {heaptape} verify {tape}"


def use(root, heaptape, prefix):
    """As a user would; then without the worker and the preload library, which are put back."""
    root.run("mkdir -p /tmp/check && rm -rf /tmp/check/*")
    root.run(record(heaptape, "/tmp/check/sort.tape"))
    said = root.run(f"{heaptape} replay /tmp/check/sort.tape -a glibc -a model:ptmalloc")
    if "0 refused" not in said or "model:ptmalloc" not in said:
        raise Failure(f"the replay said: {said}")
    root.run(f"{heaptape} replay /tmp/check/sort.tape -a glibc --html /tmp/check/report.html && test -s /tmp/check/report.html")
    missing = "part of heaptape is missing"
    for part, command in (("heaptape-worker", "replay /tmp/check/sort.tape -a glibc"),
                          ("libheaptape-interposer.so", "record -o /tmp/check/x.tape -- /usr/bin/sort /etc/passwd")):
        file = f"{prefix}/lib/heaptape/{part}"
        root.run(f"mv {file} {file}.away")
        try:
            root.refuses(f"{heaptape} {command}", missing)
        finally:
            root.run(f"mv {file}.away {file}")
    check_libraries(root, f"{prefix}/bin/heaptape {prefix}/lib/heaptape/heaptape-worker")


def check_libraries(root, programs):
    libraries = set(re.findall(r"^\t(\S+)", root.run(f"for program in {programs}; do ldd $program; done"), re.M))
    if not libraries <= SHARED:
        raise Failure(f"more than libc is needed: {sorted(libraries - SHARED)}")


def check_shell_files(root, share):
    for file in ("man/man1/heaptape.1*", "man/man1/heaptape-record.1*", "bash-completion/completions/heaptape",
                 "zsh/*/_heaptape", "fish/vendor_completions.d/heaptape.fish", "doc/heaptape/copyright",
                 "doc/heaptape/licenses/LGPL-3"):
        root.run(f"test -s {share}/{file}")


def check_deb(root, name):
    root.run(f"dpkg -i /packages/{name}")
    use(root, "heaptape", "/usr")
    check_shell_files(root, "/usr/share")
    root.run("cd / && md5sum --quiet -c /var/lib/dpkg/info/heaptape.md5sums")
    root.run("dpkg --purge heaptape")


def check_tarball(root, name):
    directory = name.removesuffix(".tar.gz")
    root.run(f"tar -C /opt -xzf /packages/{name}")
    use(root, f"/opt/{directory}/bin/heaptape", f"/opt/{directory}")
    check_shell_files(root, f"/opt/{directory}/share")
    root.run(f"mv /opt/{directory} /srv/moved && ln -s /srv/moved/bin/heaptape /usr/local/bin/heaptape")
    use(root, "/usr/local/bin/heaptape", "/srv/moved")
    root.run("rm -r /srv/moved /usr/local/bin/heaptape")


def check_recorder(root, name):
    heaptape = f"/opt/{name.removesuffix('.tar.gz')}/bin/heaptape"
    root.run(f"tar -C /opt -xzf /packages/{name}")
    root.run(f"mkdir -p /tmp/check && {record(heaptape, '/tmp/check/recorder.tape')}")
    said = root.run(f"{heaptape} info /tmp/check/recorder.tape && {heaptape} --help")
    if "/usr/bin/sort" not in said or "verify" not in said or "replay\n" in said:
        raise Failure(f"the recorder said: {said}")
    root.refuses(f"{heaptape} replay /tmp/check/recorder.tape", "this is the recorder alone")
    check_libraries(root, heaptape)
    root.run(f"mv /opt/{name.removesuffix('.tar.gz')} /srv/recorder")
    root.run(record("/srv/recorder/bin/heaptape", "/tmp/check/recorder.tape"))
    root.run("rm -r /srv/recorder")


PYTHON = """
import heaptape
tape = heaptape.record(["/usr/bin/sort", "/etc/passwd"], "/tmp/check/python.tape").tape
assert tape.facts["events"] > 10 and heaptape.program() == "/opt/env/bin/heaptape", heaptape.program()
runs = heaptape.replay(tape, ["glibc"]).json["runs"]
assert len(runs) == 1 and not runs[0].get("failure"), runs
assert len(tape.blocks().__arrow_c_stream__.__doc__ or "x") > 0
"""


def check_wheel(root, _):
    """pip takes the wheel that fits its Python. Removing it leaves an environment as a new one is."""
    root.run("python3 -m venv /opt/env && python3 -m venv /opt/fresh")
    fresh = {path.replace("opt/fresh", "opt/env", 1) for path in root.files() if path.startswith("opt/fresh/")}
    root.run("/opt/env/bin/pip install -q --disable-pip-version-check --no-index --find-links /packages heaptape")
    use(root, "/opt/env/bin/heaptape", "/opt/env")
    root.run(f"cat >/tmp/check/use.py <<'END'\n{PYTHON}END\n/opt/env/bin/python /tmp/check/use.py")
    for name in ("sweep", "tune"):
        status, said = root.try_to(f"/opt/env/bin/heaptape {name} --help")
        if status not in (0, 2) or "there is no heaptape-" in said:
            raise Failure(f"heaptape {name} --help ended with {status}: {said}")
    root.run("/opt/env/bin/pip uninstall -q --disable-pip-version-check -y heaptape")
    left = {path for path in root.files() if path.startswith("opt/env/")} - fresh
    left = {path for path in left if "__pycache__" not in path}  # of pip itself
    if left:
        raise Failure(f"pip leaves {sorted(left)[:10]}")
    root.run("rm -r /opt/env /opt/fresh")


def check(root, kind, what, name):
    begin = time.monotonic()
    before = root.files()
    what(root, name)
    after = root.files()
    if after != before:
        raise Failure(f"{kind}: left behind {sorted(after - before)[:10]}, gone {sorted(before - after)[:10]}")
    print(f"  {kind}: installed, used, removed; nothing is left ({time.monotonic() - begin:.1f} s)", flush=True)


def release(root):
    text = (root.directory / "etc/os-release").read_text()
    return re.search(r'^PRETTY_NAME="(.*)"', text, re.M)[1]


def only(packages, pattern):
    found = [path.name for path in packages.glob(pattern)]
    if len(found) != 1:
        raise Failure(f"'{packages}' has {len(found)} files {pattern}: run ./dev package")
    return found[0]


def check_root(packages, source):
    with tempfile.TemporaryDirectory(prefix="heaptape-check-", ignore_cleanup_errors=True) as directory:
        try:
            root = Root(source, pathlib.Path(directory), packages)
            print(f"{release(root)}, from {source.name}", flush=True)
            status, where = root.try_to("command -v cc gcc c++ clang")
            if status == 0:
                raise Failure(f"this root has a compiler: {where}")
            check(root, "deb", check_deb, only(packages, "*.deb"))
            check(root, "tarball", check_tarball, only(packages, "heaptape-[0-9]*.tar.gz"))
            check(root, "recorder", check_recorder, only(packages, "heaptape-recorder-*.tar.gz"))
            only(packages, "*-cp311-*.whl")
            only(packages, "*-cp312-abi3-*.whl")
            if root.try_to("python3 -c 'import ensurepip'")[0] != 0:
                root.run("apt-get -o Acquire::Check-Valid-Until=false update -q && "
                         "apt-get install -qy --no-install-recommends python3-venv")
            check(root, "wheel", check_wheel, "")
        finally:
            for name in ("proc", "dev"):
                subprocess.run(["umount", "-lR", pathlib.Path(directory) / name], check=False)


def enter_namespaces():
    """Mounts end with this process, and ids below the root are real ones or those of a user namespace."""
    if os.environ.get(INSIDE):
        return
    arguments = ["unshare", "--mount", "--pid", "--fork", "--propagation", "private"]
    if os.geteuid() != 0:
        arguments += ["--user", "--map-root-user", "--map-auto"]
        if subprocess.run([*arguments, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            sys.exit("dev: checking packages needs root, or user namespaces and ids of your own in /etc/subuid")
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*arguments, sys.executable, *sys.argv])


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: check_packages.py PACKAGES ROOT..., each root a directory or a tarball of a bare Debian")
    enter_namespaces()
    try:
        for source in sys.argv[2:]:
            check_root(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(source).resolve())
    except Failure as failure:
        sys.exit(f"dev: {failure}")


if __name__ == "__main__":
    main()
