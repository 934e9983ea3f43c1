"""The processor time of whole commands, and how far measured values lie apart."""

import resource
import statistics
import subprocess


def children_seconds():
    """Of all that this process waited for so far, and of their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_seconds(command):
    """Of the command and all its children that it waits for."""
    before = children_seconds()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return children_seconds() - before


def half_spread(values):
    """Half of the distance between the quartiles."""
    first, _, third = statistics.quantiles(values, n=4)
    return (third - first) / 2
