"""Every diagnostic code with its title. A code is never reused; `docs/errors.md` explains each."""

CODES: dict[str, str] = {
    # 10xx text, syntax, imports
    # 11xx names
    "GSM1101": "unknown name",
    "GSM1102": "unknown function",
    "GSM1103": "name declared twice",
    "GSM1104": "index hides a declaration",
    "GSM1105": "index named twice",
    "GSM1106": "name of another sort",
    "GSM1107": "unknown model",
    # 12xx types, index types, arity
    "GSM1201": "wrong number of subscripts",
    "GSM1202": "iterator does not match its set",
    "GSM1203": "element of the wrong set",
    "GSM1204": "number needed",
    "GSM1205": "condition needed",
    "GSM1206": "values cannot be compared",
    "GSM1207": "whole number needed",
    "GSM1208": "sets of different kinds",
    "GSM1209": "set without an order",
    "GSM1210": "subscript can fall outside",
    "GSM1211": "variable where only data may stand",
    "GSM1212": "wrong arguments",
    "GSM1213": "label of no known set",
    "GSM1214": "alternatives of different kinds",
    "GSM1215": "random outside an expectation",
    "GSM1216": "tuple in place of a value",
    "GSM1217": "chain of comparisons in two directions",
    "GSM1218": "constraint that compares nothing",
    "GSM1219": "constraint without a variable",
    "GSM1220": "strict comparison of variables",
    # 13xx units
    "GSM1301": "unknown unit",
    "GSM1302": "units do not agree",
    "GSM1303": "number without a unit",
    "GSM1304": "time per thing read as a duration",
    "GSM1305": "number with a unit where a plain number must stand",
    "GSM1306": "power or root without a unit",
    "GSM1307": "unit where there can be none",
    # 14xx declarations, inheritance, options, cycles
    "GSM1401": "models extend each other in a circle",
    "GSM1402": "nothing to override",
    "GSM1403": "nothing to drop",
    "GSM1404": "unknown option",
    "GSM1405": "unknown choice",
    "GSM1406": "option declared wrongly",
    "GSM1407": "declarations that need each other",
    "GSM1408": "parts of a declaration contradict each other",
    "GSM1409": "objectives without an order",
    "GSM1410": "objective extended in another sense or unit",
    "GSM1411": "bound that cannot be kept",
    "GSM1412": "unknown role in a placement",
    "GSM1413": "placement item that does not fit",
    "GSM1414": "more than one placement",
    "GSM1415": "class of identical elements",
    "GSM1416": "unknown distribution",
    # 15xx scenario statements
    # 16xx tests, policies, online
    # 20xx data files and tables
    # 21xx values and keys
    # 22xx checks on the data
    # 30xx grounding
    # 40xx solving
    "GSM4001": "unknown backend",
    "GSM4002": "backend that cannot be loaded",
    "GSM4003": "more than the backend accepts",
    "GSM4004": "unknown option of a solver",
    "GSM4005": "wrong value for an option of a solver",
    "GSM4006": "problem refused by the solver",
    "GSM4007": "solver ended without an answer",
    "GSM4008": "point that is not feasible",
    "GSM4009": "objective or bound that is not what the solver claims",
    "GSM4010": "start that does not fit",
    "GSM4011": "solve option that makes no sense",
    "GSM4012": "coefficient, bound or cost that is not a finite number",
    "GSM4020": "not a problem file",
    "GSM4021": "problem file of another version",
    "GSM4022": "problem file that contradicts itself",
    "GSM4023": "problem that cannot be written",
    # 60xx command line
    # 90xx not in this version
    "GSM9999": "internal error",
}
