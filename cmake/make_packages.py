"""Makes the packages of a build of the preset `package`: a .deb, and tarballs of the whole and of the recorder.

usage: make_packages.py BUILD OUTPUT. OUTPUT/stage/heaptape-VERSION-linux-x86_64 is what the wheels carry.
"""

import email.utils
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAINTAINER = "the authors of heaptape <heaptape@localhost>"
LIBC = "2.36"  # of Debian 12, where packages are built


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], check=True, text=True, **options)


def version():
    return re.search(r"project\(heaptape VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def source_date():
    """The date of all files in packages, so that equal sources give equal packages."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT]  # root may build another user's checkout
    return int(run(*git, "log", "-1", "--format=%ct", stdout=subprocess.PIPE).stdout)


def install(build, prefix, *options):
    shutil.rmtree(prefix, ignore_errors=True)
    run("cmake", "--install", build, "--strip", "--prefix", prefix, *options, stdout=subprocess.DEVNULL)
    return prefix


def files_below(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file())


def pack(directory, archive):
    date = source_date()

    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = date
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644  # whatever the umask
        return member

    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=date) as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(directory, directory.name, recursive=False, filter=plain)
            for path in sorted(directory.rglob("*")):
                tar.add(path, path.relative_to(directory.parent), recursive=False, filter=plain)


def compress(path):
    with open(f"{path}.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(path.read_bytes())
    path.unlink()


def control(installed_bytes):
    return f"""\
Package: heaptape
Version: {version()}
Architecture: amd64
Maintainer: {MAINTAINER}
Installed-Size: {(installed_bytes + 1023) // 1024}
Depends: libc6 (>= {LIBC})
Suggests: libjemalloc2, libmimalloc3 | libmimalloc2.0, libtcmalloc-minimal4t64 | libtcmalloc-minimal4
Section: devel
Priority: optional
Description: record every malloc call of a real run, replay it on any allocator
 heaptape records every malloc call of a process on a small tape, and replays
 the tape, offline and as often as you like, on any allocator: glibc, jemalloc,
 mimalloc, tcmalloc, any library that can be preloaded, or a model with
 simulated addresses.
"""


def debian_changelog():
    date = email.utils.formatdate(source_date())
    return (f"heaptape ({version()}) unstable; urgency=medium\n\n  * CHANGELOG.md.gz has the changes.\n\n"
            f" -- {MAINTAINER}  {date}\n")


# Messages of lintian that do not apply: one build for all releases links statically; the interposer is linked with nothing.
OVERRIDES = """\
heaptape: bogus-mail-host
heaptape: bogus-mail-host-in-debian-changelog
heaptape: embedded-library
heaptape: shared-library-lacks-prerequisites
"""


def make_deb(stage, root, deb):
    """By Debian's policy: compressed manual pages and changelog. dpkg has a manifest of its own."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(stage, root / "usr")
    shutil.rmtree(root / "usr/share/heaptape")
    documents = root / "usr/share/doc/heaptape"
    (documents / "LICENSE").unlink()  # `copyright` names the copy that Debian has
    (documents / "changelog").write_text(debian_changelog())
    overrides = root / "usr/share/lintian/overrides/heaptape"
    overrides.parent.mkdir(parents=True)
    overrides.write_text(OVERRIDES)
    for path in [documents / "changelog", documents / "CHANGELOG.md", *(root / "usr/share/man/man1").iterdir()]:
        compress(path)
    (root / "usr/share/zsh/site-functions").rename(root / "usr/share/zsh/vendor-completions")
    files = files_below(root)
    (root / "DEBIAN").mkdir()
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files]
    (root / "DEBIAN/md5sums").write_text("".join(sums))
    (root / "DEBIAN/control").write_text(control(sum(path.stat().st_size for path in files)))
    run("chmod", "-R", "u=rwX,go=rX", root)
    run("dpkg-deb", "-Zxz", "--root-owner-group", "--build", root, deb, stdout=subprocess.DEVNULL,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(source_date())})


def main():
    build, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    stages = output / "stage"
    name = f"heaptape-{version()}-linux-x86_64"
    stage = install(build, stages / name)
    pack(stage, output / f"{name}.tar.gz")
    make_deb(stage, stages / "deb", output / f"heaptape_{version()}_amd64.deb")
    recorder = install(build, stages / f"heaptape-recorder-{version()}-linux-x86_64", "--component", "recorder")
    pack(recorder, output / f"{recorder.name}.tar.gz")


if __name__ == "__main__":
    main()
