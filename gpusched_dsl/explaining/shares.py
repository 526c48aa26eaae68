"""Whether a large scenario is solved share by share of its jobs: what they have in common, or why it is not."""

from __future__ import annotations

from gpusched_dsl.compiling.build import Built
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.solving.shares.share import ShareModel
from gpusched_dsl.solving.shares.tables import form_of


def shares_lines(built: Built, root: str) -> tuple[list[str], bool]:
    """Return lines for people, and whether it is solved so; only a sample of the jobs is examined."""
    jobs = f"{len(built.instance.store.universes[root].labels):,} elements of {root}"
    try:
        model = ShareModel.of(built.scenario.model, built.instance.store, built.permissions.limits(), root)
        common, _ = form_of(model)
    except Obstacle as obstacle:
        span = obstacle.span
        place = "" if span is None else f" ({span.source.name}, line {span.line})"
        return [f"not solved share by share of {jobs}{place}: {obstacle}"], False
    lines = [f"solved share by share of {jobs}: the complete problem is never grounded"]
    families = dict.fromkeys(common.base.problem.row_family(int(row)).name for row in common.base.linking_rows)
    of = f" of {', '.join(families)}" if families else ""
    lines.append(f"  {count_text(common.linking, 'row')}{of} for all jobs together")
    if model.nodes is not None:
        patterns = sum(len(host.hubs) for host in common.hosts)
        elements = len(built.instance.store.universes[model.nodes].labels)
        lines.append(
            f"  {elements:,} elements of {model.nodes} in {count_text(model.classes.count, 'class', 'classes')}, "
            f"counted by {count_text(patterns, 'pattern')}"
        )
    lines.append("  the bound is proved by prices of what they have in common; each row is evaluated at the plan")
    return lines, True
