"""The part of a `Model` that runs its campaigns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.interface.flexibility import ModelFlexibility
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    import polars as pl

    from gpusched_dsl.campaigns.campaign import CampaignProgress
    from gpusched_dsl.campaigns.plan import CampaignPlan
    from gpusched_dsl.campaigns.tasks import RunRecord
    from gpusched_dsl.engines.protocol import Engine
    from gpusched_dsl.reporting.figures.figure import Figure


@dataclass(frozen=True, eq=False)
class CampaignResults:
    """The results of a campaign in a store.

    `interrupted`: `stop` ended the campaign. `executed` is the number of runs of this call.
    """

    plan: CampaignPlan
    records: Mapping[str, RunRecord]
    folder: Path
    executed: int = 0
    interrupted: bool = False
    warnings: tuple[Diagnostic, ...] = ()

    @cached_property
    def table(self) -> pl.DataFrame:
        """Return a row per run with the measures of the campaign (all if it has no `measure`).

        Columns: the factors, `scenario`, `online`, `method`, `seed`, `state` (`done`, `failed`, `missing`), `status`,
        `objective`, `bound`, `gap`, the measures, `seconds`, `code`, `diagnostic`, `key`.
        """
        from gpusched_dsl.campaigns.results import results_table

        return results_table(self.plan, self.records)

    @cached_property
    def all(self) -> pl.DataFrame:
        """Return the same table with all measures."""
        from gpusched_dsl.campaigns.results import results_table

        return results_table(self.plan, self.records, all_measures=True)

    @property
    def units(self) -> dict[str, str]:
        """Return the units of the columns that have one."""
        from gpusched_dsl.campaigns.results import factor_units, units_of

        return {**units_of(self.records), **factor_units(self.plan)}

    @property
    def failures(self) -> list[str]:
        """Return a line for each kind of failure."""
        from gpusched_dsl.campaigns.summary import failure_lines

        return failure_lines(self.plan, self.records)

    def figures(self) -> list[Figure]:
        """Return the measures of the runs that are done as figures: over a numeric factor, or as bars by method."""
        from gpusched_dsl.campaigns.campaign_figures import campaign_figures

        return campaign_figures(self.plan, self.records)[0]

    def to_figures(self, folder: str | Path) -> list[Path]:
        """Write the figures as SVG and PNG into a folder, and return the files; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.reporting.figures.drawing.files import write_figures

        return write_figures({"": self.figures()}, folder)

    def html_text(self) -> str:
        """Return the results as a page: figures, means, differences of methods, all runs, and published claims.

        Claims are those in `paper.claims.toml` beside the file `paper.gsm`. Raises DiagnosticError (GSM5313) for them.
        """
        from gpusched_dsl.campaigns.campaign_page import campaign_page
        from gpusched_dsl.campaigns.claims.section import claims_sections

        return campaign_page(self.plan, self.records, claims_sections(self.plan, self.records))

    def to_html(self, path: str | Path) -> None:
        """Write the page; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.data.sources.writing import output_path, write_text

        write_text(output_path(path), self.html_text())

    def export(self, path: str | Path, *, all: bool = False) -> Path:
        """Write the table as Parquet, CSV or JSON, by the extension of the path; raise DiagnosticError (GSM6008)."""
        from gpusched_dsl.campaigns.results import write_results
        from gpusched_dsl.data.sources.writing import output_path

        target = output_path(path)
        write_results(self.all if all else self.table, target)
        return target


class ModelCampaign:
    """A campaign of a model, with the keys of its runs."""

    def __init__(self, plan: CampaignPlan) -> None:
        self._plan = plan

    @property
    def name(self) -> str:
        return self._plan.name

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._plan.runs)

    def __repr__(self) -> str:
        return f"<campaign {self.name}: {len(self)} runs>"

    def run(
        self,
        store: str | Path | None = None,
        *,
        engine: str | Engine = "local",
        workers: int | None = None,
        memory: int | None = None,
        retry: bool = False,
        only: Mapping[str, object] | None = None,
        stop: Callable[[], bool] | None = None,
        tell: Callable[[CampaignProgress], None] | None = None,
    ) -> CampaignResults:
        """Execute the runs that the folder `store` lacks (`NAME.results` if None), and return all results.

        `engine` is `local` with processes, `inline`, `dask`, `dask://host:port`, `slurm`, or an engine; `memory` is in
        bytes per worker. `retry` also executes runs that failed; `only` selects runs by a value or a list of values:
        `{"method": ["highs", "scip"], "size": 2, "gap": "30[s]"}`. `tell` receives the progress after every run, `stop`
        ends the campaign. Ctrl-C ends it too: what is finished is stored.
        Raises DiagnosticError: GSM53xx for the store and the engine, GSM5312 for `only`.
        """
        from gpusched_dsl.campaigns.campaign import run_campaign
        from gpusched_dsl.campaigns.store import Store
        from gpusched_dsl.engines.choose import choose_engine
        from gpusched_dsl.solving.option_checks import check_values

        check_values("campaign", {"engine": engine, "workers": workers, "memory": memory})
        selected = {name: _texts(values) for name, values in (only or {}).items()}
        plan, folder = self._plan.only(selected), self._folder(store)
        chosen = choose_engine(engine, workers, memory) if isinstance(engine, str) else engine
        try:
            with Store(folder, self.name) as opened:
                done = run_campaign(plan, opened, chosen, retry=retry, stop=stop or _never, tell=tell or _ignore)
        finally:
            if isinstance(engine, str):
                chosen.close()
        return CampaignResults(plan, done.records, folder, done.executed, done.interrupted, done.warnings)

    def results(self, store: str | Path | None = None) -> CampaignResults:
        """Return the stored results without running; raise DiagnosticError (GSM5301) if there is no store."""
        from gpusched_dsl.campaigns.store import Store

        folder = self._folder(store)
        opened = Store(folder, self.name, read_only=True)
        records = opened.read_all(run.key for run in self._plan.runs)
        return CampaignResults(self._plan, records, folder, warnings=tuple(opened.warnings))

    def _folder(self, store: str | Path | None) -> Path:
        return Path(f"{self.name}.results" if store is None else store)


def _texts(values: object) -> list[str]:
    """Return one value, or the values of a list, tuple, set or range, as `--only` has them."""
    from gpusched_dsl.language.blocks.campaigns.constants import plain_text

    several = values if isinstance(values, list | tuple | set | frozenset | range) else [values]
    return [plain_text(value) for value in several]


def _never() -> bool:
    return False


def _ignore(progress: CampaignProgress) -> None:
    pass


class ModelCampaigns(ModelFlexibility):
    """Campaigns."""

    @property
    def campaigns(self) -> tuple[str, ...]:
        """Return the names of all campaigns, including those of imports."""
        return tuple(self._workspace.campaigns)

    def campaign(self, name: str | None = None) -> ModelCampaign:
        """Return a campaign (the only one if None), ready to run.

        Raises DiagnosticError with all errors of the campaign, GSM5311 if there is none of this name; ValueError after
        `set`, because workers read the values of the text.
        """
        from gpusched_dsl.campaigns.plan import make_plan
        from gpusched_dsl.solving.option_checks import check_values

        check_values("campaigns", {"name": name})
        if self._values.names:
            names = ", ".join(f"`{name}`" for name in self._values.names)
            raise ValueError(f"a campaign reads the values of the text, and {names} was set: state it in the scenario")
        return ModelCampaign(make_plan(self._workspace, name, self._permissions))
