"""Figures as text: what base/number_text.cc prints, written once more so that pages are held against it."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal


def decimal_text(number, digits):
    return str(Decimal(float(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN))


def scale_text(number, step, units):
    number, unit = float(number), 0
    while unit + 1 < len(units) and number >= step - 0.05:
        number /= step
        unit += 1
    return decimal_text(number, 2 if number < 9.995 else 1) + " " + units[unit]


def bytes_text(number):
    return f"{number} B" if number < 1024 else scale_text(number, 1024, ["B", "KiB", "MiB", "GiB", "TiB"])


def share_text(share):
    percent = share * 100
    return "<0.1%" if share != 0 and percent < 0.05 else decimal_text(percent, 1) + "%"


def short_text(number, step, units):
    """Of axes: three digits, without zeros at the end."""
    size, unit = abs(number), 0
    while unit + 1 < len(units) and size >= step:
        size, unit = size / step, unit + 1
    digits = Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(Decimal(size)).normalize()
    return ("-" if number < 0 else "") + f"{digits:f}" + units[unit]


TEXTS = {
    "count": lambda number: f"{number:,}",
    "bytes": bytes_text,
    "ns": lambda number: scale_text(number, 1000, ["ns", "us", "ms", "s"]),
    "ratio": lambda number: decimal_text(number, 4),
    "share": share_text,
    "percent": lambda number: decimal_text(number * 100, 4) + "%",
}
