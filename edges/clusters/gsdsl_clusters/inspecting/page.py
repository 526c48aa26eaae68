"""An inspection as a page: the sentences and tables of the terminal in full, and figures."""

from __future__ import annotations

from gpusched_dsl.explaining.job_reason import names_text
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.reporting.grid import Grid, GridColumn
from gpusched_dsl.reporting.pages.page import PageSection, PageTable, grid_table, render
from gsdsl_clusters.inspecting.figures import inspection_figures
from gsdsl_clusters.inspecting.grids import blocking_grid, change_grid, queue_grid, start_grid, team_grid, type_grid
from gsdsl_clusters.inspecting.inspection import ClusterInspection
from gsdsl_clusters.inspecting.text import (
    changes_title,
    coverage_text,
    group_sentences,
    headline,
    queue_notes,
    unused_text,
    waiting_groups,
)


def inspection_page(found: ClusterInspection) -> str:
    """HTML of an inspection, one file that loads nothing."""
    return render(headline(found), [inspection_section(found)])


def inspection_section(found: ClusterInspection) -> PageSection:
    """The sentences, figures and tables."""
    snapshot = found.snapshot
    summary = [("state", headline(found)), ("source", snapshot.source), ("as of", found.clock.text(snapshot.now))]
    if snapshot.inferred:
        summary.append(("nodes are inferred", snapshot.inferred))
    summary += [("note", note) for note in snapshot.notes]
    if found.waits:
        summary += [("queue", found.starts.order.text), ("starts", coverage_text(found))]
    if found.queues is not None and found.queues.anyone_waits:
        summary += [("other queues", note) for note in queue_notes(found.queues)]
    if text := unused_text(found):
        summary.append(("unused", text))
    summary += [("not read", text) for text in snapshot.unread]
    return PageSection("Cluster", summary, (), inspection_figures(found), _tables(found))


def _tables(found: ClusterInspection) -> list[PageTable]:
    tables = [
        grid_table("By GPU type", type_grid(found), is_open=True),
        grid_table("By team", team_grid(found), is_open=True),
    ]
    if found.waiting:
        tables.append(grid_table("Who waits and why", _waiting_grid(found), is_open=True))
    if found.blocking.height:
        tables.append(grid_table("Running jobs that block most", blocking_grid(found)))
    if found.waits:
        tables.append(grid_table("Starts, with the probability that the job has started by then", start_grid(found)))
    if found.queues is not None and found.queues.jobs and found.queues.anyone_waits:
        jobs = count_text(found.queues.jobs, "job")
        tables.append(grid_table(f"The same {jobs} of the past with other queues", queue_grid(found), is_open=True))
    if len(found.changes) > 1:
        title = changes_title(found)
        tables.append(grid_table(title[0].upper() + title[1:], change_grid(found), is_open=True))
    return tables


def _waiting_grid(found: ClusterInspection) -> Grid:
    groups = waiting_groups(found)
    return Grid(
        (
            GridColumn("jobs", [f"{len(group):,}" for group in groups], right=True),
            GridColumn("names", [names_text([job.job for job in group]) for group in groups]),
            GridColumn("why", ["; ".join(group_sentences(found, group)) for group in groups]),
        )
    )
