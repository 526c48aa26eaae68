"""The texts and scenarios of a `Model`, with the values from `set`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from gpusched_dsl.compiling.build import Built, Permissions, check_solvable, choose_scenario
from gpusched_dsl.compiling.selection import SelectedScenario
from gpusched_dsl.data.sources.python_values import AssignedValues
from gpusched_dsl.data.sources.settings_file import merge_settings
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.solving.option_checks import check_options, check_values, given_options, plain_number

if TYPE_CHECKING:
    from gpusched_dsl.compiling.data.instance import Instance
    from gpusched_dsl.policies.catalogue import ListedGeneric, ListedPolicy

Setting: TypeAlias = str | int | float


class ModelScenarios:
    """The declarations of a text and its scenarios, each checked once."""

    def __init__(
        self,
        workspace: Workspace,
        permissions: Permissions | None = None,
        warnings: tuple[Diagnostic, ...] = (),
        parse_seconds: float = 0.0,
    ) -> None:
        self._workspace = workspace
        self._permissions = permissions or Permissions()
        self._warnings = warnings
        self._parse_seconds = parse_seconds
        self._values = AssignedValues()
        self._checked: dict[tuple[str, tuple[tuple[str, str], ...]], SelectedScenario] = {}

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of all models, including those of imports."""
        return tuple(self._workspace.models)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Return the names of all scenarios, including those of imports."""
        return tuple(self._workspace.scenarios)

    def policies(self, model: str | None = None) -> list[ListedPolicy]:
        """Return the policies of the text, and those of the standard library for its models (or for one of them).

        `policy` of each has name, model, doc, lines and numbers. Raises DiagnosticError (GSM6018) for an unknown model.
        """
        from gpusched_dsl.policies.catalogue import listed_policies

        check_values("policies", {"model": model})
        return listed_policies(self._workspace, model)

    def generic_policies(self, model: str | None = None) -> list[ListedGeneric]:
        """Return the policies for any model with a placement, for each model of the text (or for one of them).

        `policy` of each has name, doc and source. `applies` tells whether the model states what it needs: then `lines`
        are those of its text, else `reason` and `help` say what is missing. Models with errors are left out.
        """
        from gpusched_dsl.policies.catalogue import listed_generic

        check_values("policies", {"model": model})
        return listed_generic(self._workspace, model)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of reading that are not errors."""
        return self._warnings

    def check(self, *, strict: bool = True, deep: bool = False, method: str | None = None) -> tuple[Diagnostic, ...]:
        """Return all diagnostics of the text and the data of its scenarios that need no solver.

        These are the diagnostics of `gsdsl check`: names, types and units of all blocks, with and without scenarios,
        then the data of each complete scenario. With `deep`, also the problem of each complete scenario is built for
        the solver `method` (by default HiGHS), without solving. Returns the warnings; raises DiagnosticError if there
        is an error, unless `strict` is False: then errors are in the tuple; and GSM6002 for `method` without `deep`.
        Values from `set` are ignored.
        """
        from gpusched_dsl.workflows.check import check_all

        values = check_values("check", locals())
        check_options("check", given_options("check", values))
        diagnostics = Diagnostics()
        diagnostics.extend(self._warnings)
        check_all(self._workspace, diagnostics, self._permissions, deep=(method or "highs") if deep else None)
        if strict:
            diagnostics.raise_if_errors()
        return tuple(diagnostics)

    def __repr__(self) -> str:
        main = self._workspace.main
        return f"<Model {main.source.name if main else ''}: scenarios {', '.join(self.scenarios) or 'none'}>"

    def _repr_html_(self) -> str:
        """Return the models of the text as mathematics, as notebooks show them; instead of errors, the errors."""
        from gpusched_dsl.interface.mathematics import model_html

        return model_html(self._workspace)

    # --- selection ---------------------------------------------------------------------------------------------------

    def _scenario(self, scenario: str | None, settings: Mapping[str, Setting] | None) -> SelectedScenario:
        """Return the checked scenario of that name (the only one if None), without the values from `set`."""
        check_values("ground", {"scenario": scenario, "settings": settings})
        name, texts = choose_scenario(self._workspace, scenario, data_later=True), _texts(settings)
        key = (name, tuple(texts.items()))
        if key not in self._checked:
            start = time.perf_counter()
            checked, warnings = check_solvable(self._workspace, name, texts)
            self._checked[key] = SelectedScenario(
                workspace=self._workspace,
                scenario=checked,
                settings=texts,
                warnings=(*self._warnings, *warnings),
                permissions=self._permissions,
                seconds=self._parse_seconds + time.perf_counter() - start,
            )
        return self._checked[key]

    def _select(self, checked: SelectedScenario) -> SelectedScenario:
        """Return the scenario with the values from `set`."""
        return structs.replace(checked, replaced=self._values.chunks(checked.scenario.model))

    def _build(
        self,
        scenario: str | None,
        settings: Mapping[str, Setting] | None,
        earlier: Instance | None = None,
        *,
        fold: bool = False,
    ) -> Built:
        return self._select(self._scenario(scenario, settings)).build(aggregated=fold, earlier=earlier)


def _texts(settings: Mapping[str, Setting] | None) -> dict[str, str]:
    values = (settings or {}).items()
    return merge_settings((name, v if isinstance(v, str) else repr(plain_number(v))) for name, v in values)
