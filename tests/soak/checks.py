"""What must hold of the tapes of a recording. Each check gives sentences: its findings."""

import glob
import json
import os
import re
import subprocess

MOST_VERIFIED = 150  # tapes of one recording; the largest and a random choice of the others
MOST_REPLAYED = 25
COMMAND_SECONDS = 120
LEAST_TAPE_BYTES = 64  # what was only just begun has less, and holds no call

SAYS_LOST = re.compile(r"lost|disk is full|session holds|no room|[Tt]oo many open files")
ACCOUNT = re.compile(r"^events: ([\d,]+) recorded = ([\d,]+) replayed \+ ([\d,]+) failed when recorded"
                     r" \+ ([\d,]+) frees of unknown blocks \+ ([\d,]+) refused", re.M)


def heaptape(binary, *words):
    """(exit status, everything it printed) of a heaptape command."""
    try:
        ran = subprocess.run([binary, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, timeout=COMMAND_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return -1, f"'{words[0]}' did not end in {COMMAND_SECONDS} s"
    return ran.returncode, ran.stdout.decode(errors="replace")


def first_line(text):
    return text.strip().split("\n")[0][:200]


class Tapes:
    """The tapes of one recording in `folder`, of which the first is `run.tape`."""

    def __init__(self, binary, folder, random):
        self.binary, self.folder, self.random = binary, folder, random
        self.calls = 0
        self.unseen = False
        self.count = 0

    def check(self, may_lose):
        try:
            with open(f"{self.folder}/run.tape.manifest.json", encoding="utf-8") as file:
                manifest = json.load(file)
        except FileNotFoundError:
            # Nothing that was recorded, or no room for the list: whoever calls knows which.
            return [] if may_lose or not self.on_disk("*.tape") else ["tapes, but no manifest"]
        except ValueError as error:
            return [f"the manifest is not JSON: {error}"]
        listed = manifest["processes"]
        # The frees of such libraries are not seen, which the manifest says.
        self.unseen = any("DEEPBIND" in part["reason"] for part in manifest.get("unrecorded", []))
        named = {process["tape"]: int(process["events"]) for process in listed if process["tape"]}
        self.count, self.calls = len(named), sum(named.values())
        return [*self.check_files(named, may_lose), *self.check_losses(listed, may_lose),
                *self.verify(named, may_lose), *self.replay(named)]

    def on_disk(self, pattern):
        return {os.path.basename(path) for path in glob.glob(f"{self.folder}/{pattern}")}

    def check_files(self, named, may_lose):
        there = self.on_disk("*.tape")
        partial = self.on_disk("*.partial")
        if missing := sorted(named.keys() - there):
            if not may_lose:
                yield f"{len(missing)} tapes of the manifest are missing: {missing[0]} ..."
        if unlisted := sorted(there - named.keys()):
            yield f"{len(unlisted)} tapes are not in the manifest: {unlisted[0]} ..."
        if partial:
            yield f"{len(partial)} partial tapes are left: {sorted(partial)[0]} ..."

    def check_losses(self, listed, may_lose):
        lost = sum(int(process["lostEvents"]) for process in listed)
        if lost and not may_lose:
            yield f"{lost} calls lost"

    def some(self, named, most):
        there = sorted(named.keys() & self.on_disk("*.tape"), key=named.get)
        if len(there) <= most:
            return there
        return there[-5:] + self.random.sample(there[:-5], most - 5)

    def verify(self, named, may_lose):
        unsound = []
        for tape in self.some(named, MOST_VERIFIED):
            status, text = heaptape(self.binary, "verify", f"{self.folder}/{tape}")
            only_lost = "losses " in text and "damage " not in text
            may_fail = may_lose or (self.unseen and " 0 calls not recorded" in text)
            if status != 0 and not (may_fail and status == 1 and only_lost):
                unsound.append(f"verify {tape}: {first_line(text)}")
        if unsound:
            yield unsound[0] + (f" ({len(unsound)} such)" if len(unsound) > 1 else "")

    def replay(self, named):
        for tape in self.some(named, MOST_REPLAYED):
            status, text = heaptape(self.binary, "replay", "-a", "recorded",
                                    f"{self.folder}/{tape}")
            account = ACCOUNT.search(text)
            if status != 0 or not account:
                yield f"replay -a recorded {tape}: {first_line(text)}"
                continue
            recorded, *parts = (int(part.replace(",", "")) for part in account.groups())
            if recorded != sum(parts) or recorded != named[tape]:
                yield f"replay of {tape} accounts for {sum(parts)} of {named[tape]} events"

    def recover(self):
        """Of a recorder that was killed: what it left can be read."""
        for path in sorted(self.on_disk("*.partial"))[:10]:
            if os.path.getsize(f"{self.folder}/{path}") < LEAST_TAPE_BYTES:
                continue
            saved = f"{self.folder}/recovered"
            status, text = heaptape(self.binary, "recover", f"{self.folder}/{path}", "-o", saved)
            if status != 0:
                yield f"recover {path}: {first_line(text)}"
                continue
            status, text = heaptape(self.binary, "verify", saved)
            if status not in (0, 1) or "damage " in text:
                yield f"verify of what was recovered of {path}: {first_line(text)}"


def in_shared_memory():
    """What heaptape has there, but for the folders of tests."""
    if not os.path.isdir("/dev/shm"):
        return []
    return [name for name in os.listdir("/dev/shm")
            if "heaptape" in name and not name.startswith("heaptape-test-")]
