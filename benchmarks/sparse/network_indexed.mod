# The same flow balance in GMPL indexed by hand: each node's arcs are numbered beforehand, in data.
set NODES;
set ARCS, dimen 2;
set ARRIVING, dimen 2;
set LEAVING, dimen 2;
param supply{NODES};
param arriving{NODES};
param leaving{NODES};
param origin{ARRIVING}, symbolic;
param destination{LEAVING}, symbolic;
param cost{ARCS}, >= 0;
table nodes IN "CSV" "nodes.csv": NODES <- [node], supply, arriving, leaving;
table arriving_ IN "CSV" "arriving.csv": ARRIVING <- [node, position], origin ~ other;
table leaving_ IN "CSV" "leaving.csv": LEAVING <- [node, position], destination ~ other;
table arcs IN "CSV" "arcs.csv": ARCS <- [tail, head], cost;
var flow{ARCS} >= 0;
minimize total: sum{(i, k) in ARCS} cost[i, k] * flow[i, k];
s.t. balance{n in NODES}:
  sum{p in 1..leaving[n]} flow[n, destination[n, p]] - sum{p in 1..arriving[n]} flow[origin[n, p], n] = supply[n];
end;
