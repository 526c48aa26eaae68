"""Prices of a week by slot, each with the price of the same time on the previous day, which a plan may know.

    python convert_prices.py [FOLDER]        # writes slots.csv and two_days/slots.csv again, byte for byte

From prices.csv beside this script, hourly and beginning a day earlier. README.md tells its source.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PER_HOUR = 4
DAY = 24
FILES = (("slots.csv", 1, 7), ("two_days/slots.csv", 6, 2))  # on which day of prices.csv a file begins, its days


def main(folder: Path = HERE) -> None:
    """Slot 0 is that of 0:00 on the first day of a file."""
    with (HERE / "prices.csv").open(encoding="utf-8", newline="") as file:
        hourly = [row["usd_per_mwh"] for row in csv.DictReader(file)]
    for name, first, days in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["slot", "usd_per_mwh", "day_before_usd_per_mwh"])
            hours = ((slot, first * DAY + slot // PER_HOUR) for slot in range(days * DAY * PER_HOUR))
            writer.writerows([slot, hourly[hour], hourly[hour - DAY]] for slot, hour in hours)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
