"""The files of a starter project, as `gsdsl new` writes them. Braces are doubled, for `str.format`."""

from __future__ import annotations

MODEL = """\
# Which job runs on which node, at the least sum of rent and value of postponed jobs.
#
#   gsdsl check {name}.gsm
#   gsdsl solve {name}.gsm
#   gsdsl test  {name}.gsm

model Cluster "Jobs on the nodes of a small cluster, until the next decision" {{
  set Jobs "waiting jobs";
  set Nodes "nodes of the cluster";

  param gpus[Nodes] integer >= 1 "GPUs of a node";
  param price[Nodes] in $/h >= 0 "rent of one GPU";
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
    needs[job] = gpus;
    hours[job] = minutes[min];
    value[job] = value[$];
  }}
}}

test Today "the known optimum, with every solver" {{
  solve Today with highs, scip;
  expect status == optimal;
  expect total == 57.55;
  expect runs["search"] == 0;
}}
"""

JOBS = """\
job,gpus,minutes,value
resnet,2,90,20
bert,4,240,60
whisper,1,30,5
search,8,600,40
tuning,4,120,15
"""

README = """\
# {name}

A model for [gsdsl]: which job runs on which node of a small cluster.

| file | content |
| --- | --- |
| `{name}.gsm` | the model, a scenario and a test |
| `jobs.csv` | the jobs of the scenario |

    gsdsl check {name}.gsm      # names, units and data, without solving
    gsdsl solve {name}.gsm      # the schedule
    gsdsl test {name}.gsm       # compare results with known values
    gsdsl fmt {name}.gsm        # format the file

Replace the model, the data and the test by your own: add the rules of your cluster, your jobs, and results that you
know.

[gsdsl]: gsdsl --help
"""


def starter_files(name: str) -> dict[str, str]:
    """File name to text of a project called `name`."""
    return {
        f"{name}.gsm": MODEL.format(name=name),
        "jobs.csv": JOBS,
        "README.md": README.format(name=name),
    }
