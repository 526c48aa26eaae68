# Flow balance over a sparse set of arcs in GMPL, written as one says it.
set NODES;
set ARCS, dimen 2;
param supply{NODES};
param cost{ARCS}, >= 0;
table nodes IN "CSV" "nodes.csv": NODES <- [node], supply;
table arcs IN "CSV" "arcs.csv": ARCS <- [tail, head], cost;
var flow{ARCS} >= 0;
minimize total: sum{(i, k) in ARCS} cost[i, k] * flow[i, k];
s.t. balance{n in NODES}:
  sum{(i, k) in ARCS: i = n} flow[i, k] - sum{(i, k) in ARCS: k = n} flow[i, k] = supply[n];
end;
