"""The processor time of whole commands, and how far measured values lie apart."""

import resource
import statistics
import subprocess


def cpu_seconds(command):
    """Of the command and all its children that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def half_spread(values):
    """Half of the distance between the quartiles."""
    first, _, third = statistics.quantiles(values, n=4)
    return (third - first) / 2
