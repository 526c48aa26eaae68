"""The template `windows`: slots with prices, planned ahead in windows that overlap."""

from __future__ import annotations

MODEL = """\
# Which job trains in which hour, at prices that change: planned half a day ahead, every three hours.
#
#   gsdsl check {name}.gsm
#   gsdsl solve {name}.gsm
#   gsdsl run   {name}.gsm --html run.html
#   gsdsl test  {name}.gsm

model Training "Hours in which jobs train on the GPUs of a cluster" {{
  set Hours ordered "hours of the plan";
  set Jobs "jobs that are not done";

  param gpus integer >= 1 "GPUs of the cluster";
  param price[Hours] in $/h >= 0 "price of one GPU";
  param first_hour[Jobs] integer >= 0 "the hour before which a job cannot start";
  param last_hour[Jobs] integer "the hour after which a job is late";
  param needs[Jobs] integer >= 1 "requested GPUs";
  param hours[Jobs] >= 0 "hours of training that are left";
  param lateness[Jobs] in $ >= 0 "cost of an hour of training after the last hour";

  param usual_price in $/h = sum[h in Hours] price[h] / count(Hours) "expected price after the window";

  var train[j in Jobs, h in Hours where h >= first_hour[j]] binary "job trains in this hour";
  var left[Jobs] >= 0 "hours of training left for later";

  minimize cost in $ {{
    energy: sum[j in Jobs, h in Hours] price[h] * 1[h] * needs[j] * train[j, h];
    late: sum[j in Jobs, h in Hours where h > last_hour[j]] lateness[j] * train[j, h];
    later: sum[j in Jobs] (usual_price * 1[h] * needs[j] + lateness[j]) * left[j];
  }}

  constraint done[j in Jobs]: sum[h in Hours] train[j, h] + left[j] >= hours[j];
  constraint capacity[h in Hours]: sum[j in Jobs] needs[j] * train[j, h] <= gpus;

  placement train[j, h] {{
    job j;  slot h;
    uses needs[j] of gpus;
    lasts 1[h];
    costs price[h] * needs[j] in $/h;
  }}
}}

scenario Today for Training {{
  gpus = 8;

  data "prices.csv" {{
    Hours = hour;
    price[hour] = price[$/h];
  }}

  data "jobs.csv" {{
    Jobs = job;
    first_hour[job] = first;
    last_hour[job] = last;
    needs[job] = gpus;
    hours[job] = hours;
    lateness[job] = lateness[$];
  }}
}}

online HalfADay for Training "Plan twelve hours, execute three of them" {{
  window h in Hours lookahead 12 commit 3;
  arrive j in Jobs at first_hour[j];
  replan on every 3 slots;
  work hours[j];
  speed 1;
  carry hours[j] = hours[j] - done[j];
  charge energy[j in Jobs] in $ = sum[h in Hours] price[h] * 1[h] * needs[j] * train[j, h];
  charge late[j in Jobs] in $ = sum[h in Hours where h > last_hour[j]] lateness[j] * train[j, h];
}}

test Today "the known optimum, with every solver" {{
  solve Today with highs, scip;
  expect status == optimal;
  expect cost == 20.22;
}}
"""

PRICES = "hour,price\n" + "".join(
    f"{hour},{price}\n"
    for hour, price in enumerate(
        (0.22, 0.2, 0.18, 0.18, 0.2, 0.25, 0.34, 0.45, 0.5, 0.46, 0.4, 0.36,
         0.32, 0.3, 0.31, 0.36, 0.44, 0.55, 0.6, 0.52, 0.42, 0.34, 0.28, 0.24)
    )
)  # fmt: skip

JOBS = """\
job,first,last,gpus,hours,lateness
resnet,0,8,2,4,1
bert,0,20,4,6,1
whisper,5,12,2,3,2
search,6,23,8,3,1
tuning,9,18,4,4,2
"""

FILES = {"{name}.gsm": MODEL, "prices.csv": PRICES, "jobs.csv": JOBS}
