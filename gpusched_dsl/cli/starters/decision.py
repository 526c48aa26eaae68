"""The template `decision`: one decision for the waiting jobs, repeated when jobs arrive and complete."""

from __future__ import annotations

MODEL = """\
# Which job runs on which node, at the least sum of rent and value of postponed jobs.
#
#   gsdsl check {name}.gsm
#   gsdsl solve {name}.gsm
#   gsdsl run   {name}.gsm
#   gsdsl test  {name}.gsm

model Cluster "Jobs on the nodes of a small cluster, until the next decision" {{
  set Jobs "waiting jobs";
  set Nodes "nodes of the cluster";

  param gpus[Nodes] integer >= 1 "GPUs of a node";
  param price[Nodes] in $/h >= 0 "rent of one GPU";
  param submitted[Jobs] in h >= 0 "arrival, for `gsdsl run`; `gsdsl solve` decides on all jobs at once";
  param needs[Jobs] integer >= 1 "requested GPUs";
  param hours[Jobs] in h > 0 "execution time";
  param value[Jobs] in $ >= 0 "cost of postponing the job";

  check [j in Jobs]: any[n in Nodes] needs[j] <= gpus[n] "a job must fit on some node";

  var run[Jobs, Nodes] binary "job runs on this node";

  let runs[j in Jobs] = sum[n in Nodes] run[j, n];

  minimize total in $ {{
    rent: sum[j in Jobs, n in Nodes] price[n] * needs[j] * hours[j] * run[j, n];
    postponed: sum[j in Jobs] value[j] * (1 - runs[j]);
  }}

  constraint once[j in Jobs]: runs[j] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= gpus[n];

  placement run[j, n] {{
    job j;  node n;
    uses needs[j] of gpus[n];
    lasts hours[j];
    costs price[n] * needs[j] in $/h;
  }}
}}

scenario Today for Cluster {{
  table Nodes:  gpus  price[$/h] =
    fast        4     0.9
    large       8     0.6;

  data "jobs.csv" {{
    Jobs = job;
    submitted[job] = submitted[min];
    needs[job] = gpus;
    hours[job] = minutes[min];
    value[job] = value[$];
  }}
}}

online Events for Cluster "Decide again when a job arrives or completes" {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry hours[j] = hours[j] * remaining[j];
}}

test Today "the known optimum, with every solver" {{
  solve Today with highs, scip;
  expect status == optimal;
  expect total == 77.55;
  expect runs["search"] == 0;
}}
"""

JOBS = """\
job,submitted,gpus,minutes,value
resnet,0,2,90,20
bert,0,4,240,60
whisper,30,1,30,5
search,45,8,600,60
tuning,90,4,120,15
"""

FILES = {"{name}.gsm": MODEL, "jobs.csv": JOBS}
