"""Small models for notebooks, with names that would be markup."""

HOSTILE = "<script>x</script>&"
ASSIGN = f"""\
model Assign {{
  set Jobs;
  set Nodes;
  param price[Nodes] in $/h >= 0;
  param hours[Jobs] in h > 0;
  var run[Jobs, Nodes] binary "{HOSTILE}";
  minimize cost in $: sum[j in Jobs, n in Nodes] price[n] * hours[j] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] == 1;
  constraint few[n in Nodes]: sum[j in Jobs] run[j, n] <= 2;
  constraint kept[j in Jobs]: sum[n in Nodes where n == "{HOSTILE}"] run[j, n] <= 1;
  placement run[j, n] {{ job j; node n; lasts hours[j]; }}
}}
scenario Today for Assign {{
  table Nodes: price[$/h] = "{HOSTILE}" 3  slow 1;
  table Jobs: hours[h] = a 2  b 4  "{HOSTILE}" 1;
}}
"""
THREE = f"""\
import "gsdsl:capacity_planning/online.gsm";
scenario Three for CapacityPlanning {{
  Nodes = {{ n1 }};
  Jobs = {{ J1, "{HOSTILE}" }};
  Types = {{ A }};
  period = 1[h];
  table Types: gpus price[$/h] family = A 1 0.5 k;
  table Jobs: submitted[h] deadline[h] weight[$/h] = J1 0 6 1  "{HOSTILE}" 1 9 4;
  Runnable = {{ (j, v, g) : j in Jobs, (v, g) in Configs }};
  exec_time["J1","A",1] = 4[h]; exec_time["{HOSTILE}","A",1] = 2[h];
}}
"""
