"""A scenario that was selected and checked, with everything that is needed to build its problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from gpusched_dsl.compiling.build import Built, Permissions, build
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.scenarios.scenario import CheckedScenario
from gpusched_dsl.language.workspace import Workspace

if TYPE_CHECKING:
    from gpusched_dsl.compiling.data.instance import Instance
    from gpusched_dsl.compiling.provenance import Provenance
    from gpusched_dsl.data.chunks import DataChunk


class SelectedScenario(Struct, frozen=True, eq=False, kw_only=True):
    """A checked scenario before its data are read.

    `settings` are the options and parameters set from outside, `replaced` the values in place of those of the scenario.
    `warnings` are those of the text. Reading and checking the text took `seconds`.
    """

    workspace: Workspace
    scenario: CheckedScenario
    settings: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    permissions: Permissions = field(default_factory=Permissions)
    replaced: Mapping[str, Sequence[DataChunk]] | None = None
    seconds: float = 0.0

    def build(self, *, aggregated: bool = False, full: bool = True, earlier: Instance | None = None) -> Built:
        """Read the data and ground the problem, as `build` of `compiling/build.py` does.

        `earlier` is the instance of an earlier build: its files are not read again, and values whose inputs did not
        change are taken from it.
        """
        built = build(
            self.workspace,
            self.scenario,
            warnings=self.warnings,
            permissions=self.permissions,
            replaced=self.replaced,
            settings=self.settings,
            reader=None if earlier is None else earlier.reader,
            aggregated=aggregated,
            earlier=earlier,
            full=full,
        )
        return structs.replace(built, seconds=built.seconds + self.seconds)

    def provenance(self, seconds: float) -> Provenance:
        """The provenance of a problem that was not built in `seconds`."""
        from gpusched_dsl.compiling.provenance import Provenance

        return Provenance(
            model=self.scenario.model,
            scenario=self.scenario.name,
            build_seconds=seconds,
            warnings=self.warnings,
            settings=self.settings,
        )
