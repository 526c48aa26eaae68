import random
from datetime import UTC, datetime, timedelta, timezone

r = random.Random(30)
base = datetime(2025, 6, 2, 6, 0, tzinfo=timezone(timedelta(hours=2)))
owners = ["ana", "bo", "chen", "dara", "eli"]
with open("jobs.csv", "w") as f:
    f.write("job,owner,submitted,deadline,gpus,hours\n")
    t = base
    for k in range(60):
        t += timedelta(minutes=r.choice([5, 10, 15, 20, 30]))
        hours = round(r.uniform(0.5, 9), 2)
        g = r.choice([1, 1, 1, 2, 2, 4])
        due = t + timedelta(hours=hours * r.uniform(1.3, 4) + 1)
        due = due.replace(second=0, microsecond=0)
        # half of the jobs were exported in UTC, as tools do
        s, d = (
            (t.isoformat(), due.isoformat())
            if k % 2
            else (
                t.astimezone(UTC).isoformat().replace("+00:00", "Z"),
                due.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            )
        )
        f.write(f"job{k + 1:02d},{r.choice(owners)},{s},{d},{g},{hours}\n")
with open("nodes.csv", "w") as f:
    f.write("node,kind,gpus,speed,watts\n")
    for k in range(30):
        kind, g, s, w = (("k80", 2, 1.0, 900), ("p100", 4, 2.1, 1600), ("v100", 8, 3.4, 2900))[
            0 if k < 16 else 1 if k < 26 else 2
        ]
        f.write(f"n{k + 1:02d},{kind},{g},{s},{w}\n")
import math

with open("prices.csv", "w") as f:
    f.write("time,EUR_per_MWh\n")
    t = datetime(2025, 6, 2, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    for h in range(72):
        f.write(
            f"{(t + timedelta(hours=h)).isoformat()},{round(80 + 45 * math.sin((h - 13) / 24 * 2 * math.pi) + r.uniform(-8, 8), 2)}\n"
        )
