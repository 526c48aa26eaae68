"""The nodes of a class, counted by pattern: which states of jobs a node holds at once (`interchangeable/patterns.py`).

The patterns are those of a node for jobs without end: what a sample of the jobs tells, each other share must say too,
number by number. So they are the patterns of the complete problem, and those that need more jobs than there are remain
unused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.members import Template, templates_of
from gpusched_dsl.compiling.interchangeable.parts import Component
from gpusched_dsl.compiling.interchangeable.uses import Uses
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.solving.shares.share import Share

MOST_PATTERNS = 20_000
WITHOUT_END = 1 << 40  # jobs

Key: TypeAlias = tuple[str, tuple[int, ...]]  # the name of a variable, and the codes of an element without job and node


@dataclass(frozen=True, eq=False)
class Hosts:
    """The `elements` (codes) of class `kind`. Pattern p has the values `hubs[p]` of the node's own columns, which
    `hub_keys` names, and room for `counts[p, s]` jobs in position s, which `positions` names.

    `closed`: places may remain free.
    """

    kind: int
    elements: Codes
    template: Template
    positions: tuple[Key, ...]
    hub_keys: tuple[Key, ...]
    hubs: Ints
    counts: Ints
    closed: bool


@dataclass(frozen=True, eq=False)
class HostedColumns:
    """The columns of jobs on nodes of a class: the position of each of `columns`, which ascend."""

    columns: Codes
    position: Codes


def hosts_of(share: Share, kind: int) -> Hosts:
    """List the patterns of a class, from a sample of the jobs; raise Obstacle where the rows of a node are of no
    template.
    """
    component = _component(share, kind)
    template = _template(share, component)
    uses = Uses(share.isolated, component, template)
    if (uses.states.sum(axis=1) != 1).any():
        raise Obstacle(f"a job has several columns on one element of `{share.quotient.root}`", uses.span)
    uses.members = np.where(uses.members > 0, WITHOUT_END, 0)
    found = uses.list_patterns()
    if len(found.hubs) > MOST_PATTERNS:
        what = f"one element of `{share.quotient.root}` has {len(found.hubs):,} possible uses, which is too many"
        raise Obstacle(what, uses.span)
    order = uses.states.argmax(axis=1)  # the position of each state
    counts = np.zeros((len(found.counts), template.column.shape[1]), dtype=np.int64)
    counts[:, order] = found.counts
    return Hosts(
        kind,
        uses.elements,
        template,
        _position_keys(share, template),
        _keys(share, template.hubs),
        found.hubs,
        counts,
        uses.closed,
    )


def hosted_columns(share: Share, hosts: Hosts) -> HostedColumns:
    """The columns of a share by position; raise Obstacle where its rows differ from those of the sample."""
    component = _component(share, hosts.kind)
    columns = component.columns[share.job_of_column[component.columns] >= 0]
    if not len(columns):
        return HostedColumns(columns, columns)
    template = _template(share, component)
    own, known = _position_keys(share, template), {key: at for at, key in enumerate(hosts.positions)}
    missing = [key for key in own if key not in known]
    if missing or _keys(share, template.hubs) != hosts.hub_keys:
        raise _unlike(share, component)
    at = np.array([known[key] for key in own], dtype=np.int64)
    _check_rows(share, component, template, hosts.template, at)
    member, position = np.nonzero(template.column >= 0)
    found = template.column[member, position]
    order = np.argsort(found)
    return HostedColumns(found[order], at[position[order]])


def _component(share: Share, kind: int) -> Component:
    quotient = share.quotient
    columns = np.flatnonzero(quotient.column_class == kind)
    return Component(kind, columns, np.flatnonzero(quotient.row_class == kind))


def _template(share: Share, component: Component) -> Template:
    template = None
    for quotient in (share.regular, share.isolated):
        try:
            template = next((t for t in templates_of(quotient, component) if t.root is share.universe), None)
        except Obstacle:
            if quotient is share.isolated:
                raise
        if template is not None and template.exclusive.all():
            break
    if template is None:
        family = share.problem.column_family(int(component.columns[0]))
        what = f"the rows of one element of `{share.quotient.root}` differ between jobs"
        raise Obstacle(what, family.span)
    if not template.exclusive.all():
        family = share.problem.column_family(int(template.column.max()))
        raise Obstacle(f"no row of one job limits `{family.name}` to one element of all", family.span)
    return template


def _position_keys(share: Share, template: Template) -> tuple[Key, ...]:
    found = _keys(share, template.column.max(axis=0))
    if len(set(found)) < len(found):  # jobs of other numbers have positions of their own
        family = share.problem.column_family(int(template.column.max()))
        raise Obstacle(f"the rows of one element of `{share.quotient.root}` have numbers of single jobs", family.span)
    return found


def _keys(share: Share, columns: Codes) -> tuple[Key, ...]:
    found = []
    for column in columns.tolist():
        family = share.problem.column_family(column)
        found.append((family.name, tuple(int(c[column - family.first]) for c in share.other_codes(family))))
    return tuple(found)


def _check_rows(share: Share, component: Component, own: Template, known: Template, at: Codes) -> None:
    """Refuse rows that are not those of the sample: as sets of rows over the positions that the share has."""
    others = np.setdiff1d(np.arange(known.column.shape[1]), at)
    for mine, theirs in ((own.single, known.single), (own.common, known.common)):
        sorted_mine = _sorted(np.column_stack((mine.positions, mine.hubs, mine.lower, mine.upper)))
        of_others = (theirs.positions[:, others] != 0).any(axis=1) & (theirs.positions[:, at] == 0).all(axis=1)
        kept = ~of_others
        seen = np.column_stack((theirs.positions[:, at], theirs.hubs, theirs.lower, theirs.upper))
        if not _contains(_sorted(seen), sorted_mine) or not _contains(sorted_mine, _sorted(seen[kept])):
            raise _unlike(share, component)


def _sorted(rows: Floats) -> Floats:
    return np.unique(rows + 0.0, axis=0)


def _contains(rows: Floats, others: Floats) -> Bools:
    return np.asarray(len(np.unique(np.concatenate((rows, others)), axis=0)) == len(rows))


def _unlike(share: Share, component: Component) -> Obstacle:
    family = share.problem.column_family(int(component.columns[-1]))
    what = f"the rows of one element of `{share.quotient.root}` differ between jobs"
    return Obstacle(what, family.span)
