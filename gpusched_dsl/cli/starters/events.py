"""The template `events`: deadlines, decisions at every event and once per period, and a policy."""

from __future__ import annotations

MODEL = """\
# Which job runs on which node, with deadlines: decided at every event.
#
#   gsdsl check   {name}.gsm
#   gsdsl solve   {name}.gsm
#   gsdsl run     {name}.gsm --html run.html
#   gsdsl run     {name}.gsm --methods highs,EarliestDeadline
#   gsdsl test    {name}.gsm

model Cluster "Jobs with deadlines on the nodes of a cluster, until the next decision" {{
  set Jobs "present jobs";
  set Nodes "nodes of the cluster";

  param gpus[Nodes] integer >= 1 "GPUs of a node";
  param price[Nodes] in $/h >= 0 "rent of one GPU";
  param submitted[Jobs] in h >= 0 "arrival, for `gsdsl run`";
  param needs[Jobs] integer >= 1 "requested GPUs";
  param hours[Jobs] in h >= 0 "time to the end";
  param deadline[Jobs] in h "time until the job is due";
  param weight[Jobs] in $/h >= 0 "cost of tardiness";
  param period in h > 0 "a job that waits starts one period later";

  check [j in Jobs]: any[n in Nodes] needs[j] <= gpus[n] "a job must fit on some node";

  # A job that waits ends one period later; and waiting must not be a way to save rent.
  param late[j in Jobs] in h = max(0[h], hours[j] - deadline[j]);
  param late_later[j in Jobs] in h = max(0[h], hours[j] + period - deadline[j]);
  param most_rent[j in Jobs] in $ = max[n in Nodes] price[n] * needs[j] * hours[j];
  param waiting_price[j in Jobs] in $ = most_rent[j] + weight[j] * (late_later[j] + period);

  var run[j in Jobs, n in Nodes where needs[j] <= gpus[n]] binary "job runs on this node";

  let runs[j in Jobs] = sum[n in Nodes] run[j, n];

  minimize total in $ {{
    rent: sum[j in Jobs, n in Nodes] price[n] * needs[j] * hours[j] * run[j, n];
    tardiness: sum[j in Jobs] weight[j] * late[j] * runs[j];
    waiting: sum[j in Jobs] waiting_price[j] * (1 - runs[j]);
  }}

  constraint once[j in Jobs]: runs[j] <= 1;
  constraint capacity[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= gpus[n];

  placement run[j, n] {{
    job j;  node n;
    uses needs[j] of gpus[n];
    lasts hours[j];
    costs price[n] * needs[j] in $/h;
    due deadline[j];
    weight weight[j];
    postponed waiting_price[j];
  }}
}}

policy EarliestDeadline for Cluster "by deadline, on the cheapest node with free GPUs" {{
  order j in Jobs by deadline[j];
  choose by price[n], gpus[n];
  place best_fit, new_node, next_choice, postpone;
  keep running;
}}

scenario Today for Cluster {{
  period = 1[h];

  table Nodes:  gpus  price[$/h] =
    fast        4     0.9
    large       8     0.6;

  data "jobs.csv" {{
    Jobs = job;
    submitted[job] = submitted[min];
    needs[job] = gpus;
    hours[job] = minutes[min];
    deadline[job] = deadline[min];
    weight[job] = weight[$/h];
  }}
}}

online Events for Cluster "Decide at every arrival and completion, and once per period" {{
  arrive j in Jobs at submitted[j];
  replan on arrival, completion, every period;
  carry hours[j] = hours[j] * remaining[j];
  carry deadline[j] = deadline[j] - now;
  fallback EarliestDeadline;
}}

test Today "the known optimum, with every solver; the policy is not better" {{
  solve Today with highs, scip;
  expect status == optimal;
  expect total == 75.75;
  solve Today with EarliestDeadline;
  expect total >= 75.74;
}}
"""

JOBS = """\
job,submitted,gpus,minutes,deadline,weight
resnet,0,2,90,120,2
bert,0,4,240,300,1
whisper,30,1,30,75,4
search,45,8,600,900,0.5
tuning,90,4,120,240,2
"""

FILES = {"{name}.gsm": MODEL, "jobs.csv": JOBS}
