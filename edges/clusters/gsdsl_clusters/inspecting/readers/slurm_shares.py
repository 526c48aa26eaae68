"""The part of a cluster that belongs to each account of Slurm, from `sacctmgr show assoc`.

Source: "Classic Fairshare Algorithm" of the documentation of Slurm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def shares_of(associations: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """The shares of accounts, relative to each other, without the root.

    Where all accounts are below the root, these are their own; else the part of an account is its share among all
    accounts and users below the same parent, times the part of the parent. An account whose share is `parent` has that
    of its parent.
    """
    rows = [tuple(row.get(key, "") for key in ("Account", "User", "ParentName", "Share")) for row in associations]
    own = {account: (parent, share) for account, user, parent, share in rows if account and not user}
    below: dict[str, int] = {}
    for account, user, parent, share in rows:
        above = account if user else parent
        if above and share.isdigit():
            below[above] = below.get(above, 0) + int(share)
    parts: dict[str, float] = {}

    def part(account: str) -> float:
        if account not in parts:
            parts[account] = 1.0  # also of a root, and of accounts below each other
            parent, share = own[account]
            if parent in own:
                mine = int(share) / below[parent] if share.isdigit() and below[parent] else 1.0
                parts[account] = mine * part(parent)
        return parts[account]

    roots = {account for account, (parent, _) in own.items() if not parent}
    accounts = {account: each for account, each in own.items() if account not in roots}
    if all(parent in roots and share.isdigit() for parent, share in accounts.values()):
        return {account: float(share) for account, (_, share) in accounts.items()}
    return {account: part(account) for account in accounts}
