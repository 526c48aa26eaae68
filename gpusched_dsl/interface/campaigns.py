"""A campaign of a model: its runs executed, and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusched_dsl.campaigns.campaign import CampaignProgress
    from gpusched_dsl.campaigns.plan import CampaignPlan
    from gpusched_dsl.campaigns.results import CampaignResults
    from gpusched_dsl.engines.protocol import Engine


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
        plan = self._plan.only({name: _texts(values) for name, values in (only or {}).items()})
        chosen = choose_engine(engine, workers, memory) if isinstance(engine, str) else engine
        try:
            with Store(self._folder(store), self.name) as opened:
                return run_campaign(plan, opened, chosen, retry=retry, stop=stop, tell=tell)
        finally:
            if isinstance(engine, str):
                chosen.close()

    def results(self, store: str | Path | None = None) -> CampaignResults:
        """Return the stored results without running; raise DiagnosticError (GSM5301) if there is no store."""
        from gpusched_dsl.campaigns.results import CampaignResults

        return CampaignResults.read(self._plan, self._folder(store))

    def _folder(self, store: str | Path | None) -> Path:
        return Path(f"{self.name}.results" if store is None else store)


def _texts(values: object) -> list[str]:
    """Return one value, or the values of a list, tuple, set or range, as `--only` has them."""
    from gpusched_dsl.language.blocks.campaigns.constants import plain_text

    several = values if isinstance(values, list | tuple | set | frozenset | range) else [values]
    return [plain_text(value) for value in several]
