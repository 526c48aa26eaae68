# The printed capacity-planning model in GMPL; data from the CSV files in the working folder.
set NODES;
set JOBS;
set TYPES;
param gpus{TYPES}, integer, >= 1;
param price{TYPES}, >= 0;
set CONFIGS := setof{v in TYPES, g in 1..gpus[v]} (v, g);
param deadline{JOBS};
param weight{JOBS}, >= 0;
set TIMES, dimen 3;
param hours{TIMES}, > 0;

table nodes IN "CSV" "nodes.csv": NODES <- [node];
table types IN "CSV" "types.csv": TYPES <- [vm_type], gpus, price ~ price_usd_per_h;
table jobs  IN "CSV" "instance_jobs.csv":  JOBS <- [job], deadline ~ deadline_h, weight ~ weight_usd_per_h;
table times IN "CSV" "instance_times.csv": TIMES <- [job, vm_type, gpus], hours;

param period := 1;
param idle_penalty := 1;
param slowest{j in JOBS} := max{(v, g) in CONFIGS} hours[j, v, g];

var opened{NODES} binary;
var hosts{NODES, TYPES} binary;
var runs{JOBS} binary;
var run{JOBS, NODES, CONFIGS} binary;
var tardiness{JOBS} >= 0;
var postponed_tardiness{JOBS} >= 0;

minimize total:
  sum{j in JOBS} weight[j] * tardiness[j]
  + sum{j in JOBS} 100 * weight[j] * postponed_tardiness[j]
  + sum{n in NODES, v in TYPES} idle_penalty * gpus[v] * hosts[n, v]
  + sum{j in JOBS, n in NODES, (v, g) in CONFIGS}
      (g / gpus[v] * price[v] * hours[j, v, g] - idle_penalty * g) * run[j, n, v, g];

s.t. one_type{n in NODES}: sum{v in TYPES} hosts[n, v] = opened[n];
s.t. on_hosted_type{j in JOBS, n in NODES, (v, g) in CONFIGS}: run[j, n, v, g] <= hosts[n, v];
s.t. only_if_run{j in JOBS, n in NODES, (v, g) in CONFIGS}: run[j, n, v, g] <= runs[j];
s.t. only_on_open{j in JOBS, n in NODES}: sum{(v, g) in CONFIGS} run[j, n, v, g] <= opened[n];
s.t. one_place{j in JOBS}: sum{n in NODES, (v, g) in CONFIGS} run[j, n, v, g] = runs[j];
s.t. capacity{n in NODES, v in TYPES}: sum{j in JOBS, g in 1..gpus[v]} g * run[j, n, v, g] <= gpus[v];
s.t. due{j in JOBS}:
  sum{n in NODES, (v, g) in CONFIGS} hours[j, v, g] * run[j, n, v, g] <= deadline[j] + tardiness[j];
s.t. due_if_postponed{j in JOBS}:
  (period + slowest[j]) * (1 - runs[j]) <= deadline[j] + postponed_tardiness[j];
s.t. use_all_nodes: sum{n in NODES} opened[n] = min(card(NODES), card(JOBS));
end;
