"""Run by gdb, of a program that `heaptape record` runs: says of each call of the recorded malloc what
gdb's backtrace is, in a line: SIZE ADDRESS... | FUNCTION:LINE...

The addresses are return addresses, from the innermost frame on, and one more than the address of an
instruction that a signal interrupted: as on a tape. Frames of functions that are inlined have
none of their own. The functions, these among them, are those of the source file named.

Environment: GDB_BACKTRACES, the file to write; GDB_SOURCE, the name of the source file; GDB_SIZES,
the least and the largest size.
"""

import os

import gdb

LOW, HIGH = map(int, os.environ["GDB_SIZES"].split("-"))
SOURCE = os.environ["GDB_SOURCE"]
OUT = open(os.environ["GDB_BACKTRACES"], "w", buffering=1)
NOT_PHYSICAL = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)  # the latter are gone, and guessed


def frames(frame):
    while frame is not None:
        yield frame
        frame = frame.older()


def backtrace(hook):
    addresses, functions, is_interrupted = [], [], False
    for frame in frames(hook.older()):
        place = frame.find_sal()
        if frame.type() != gdb.TAILCALL_FRAME and place.symtab and place.symtab.filename.endswith("/" + SOURCE):
            functions.append(f"{frame.name()}:{place.line}")
        if frame.type() in NOT_PHYSICAL:
            continue
        addresses.append(f"{frame.pc() + is_interrupted:x}")
        is_interrupted = frame.type() == gdb.SIGTRAMP_FRAME
    return f"{' '.join(addresses)} | {' '.join(name.replace(' ', '') for name in functions)}"


class Calls(gdb.Breakpoint):
    def stop(self):
        frame = gdb.newest_frame()
        size = int(frame.read_register("rdi"))
        if LOW <= size <= HIGH:
            OUT.write(f"{size} {backtrace(frame)}\n")
        return False


for setting in (
    "pagination off",
    "confirm off",
    "backtrace past-main on",
    "backtrace past-entry on",
    "debuginfod enabled off",
    "startup-with-shell off",
    "follow-fork-mode child",
):
    gdb.execute(f"set {setting}")
gdb.execute("handle SIGUSR1 nostop noprint pass")
gdb.execute("catch exec")
gdb.execute("run")  # to where the recorder's child becomes the program
gdb.execute("tbreak main")
gdb.execute("continue")
library = next(file for file in gdb.objfiles() if file.filename.endswith("/libheaptape-interposer.so"))
Calls(f"*{int(library.lookup_global_symbol('malloc').value().address):#x}", internal=True)
gdb.execute("continue")
