"""Every diagnostic code with its title. A code is never reused; `docs/errors.md` explains each."""

CODES: dict[str, str] = {
    # 10xx text, syntax, imports
    # 11xx names
    # 12xx types, index types, arity
    # 13xx units
    # 14xx declarations, inheritance, options, cycles
    # 15xx scenario statements
    # 16xx tests, policies, online
    # 20xx data files and tables
    # 21xx values and keys
    # 22xx checks on the data
    # 30xx grounding
    # 40xx solving
    # 60xx command line
    # 90xx not in this version
    "GSM9999": "internal error",
}
