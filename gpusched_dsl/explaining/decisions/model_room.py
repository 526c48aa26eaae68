"""The room of a job by the roles of a placement: capacities, what planned jobs use of them, and the job's options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.gangs import most_workers
from gpusched_dsl.compiling.placement import PlacementEvaluator, type_codes
from gpusched_dsl.explaining.free_room import ClusterRoom, PlaceOptions
from gpusched_dsl.explaining.job_reason import WHOLE_NODE, Resource
from gpusched_dsl.ir.arrays import Codes, Floats, Ints
from gpusched_dsl.ir.domains import Domain, decode_column
from gpusched_dsl.language.checked import CheckedModel, CheckedPlacementItem, Element, Numeric, ParamRef, TextType
from gpusched_dsl.language.units import DIMENSIONLESS

OTHER_TYPE, OUT_OF_STOCK = Resource(""), Resource("")  # nobody needs any of these; a place without them has no room
_GPU = Resource("GPU")
_GPU_UNITS = ("GPU", "gpu")
_COUNTED = {"gpu": "GPU", "core": "core", "cpu": "CPU", "licen": "licence"}  # in names of capacities


@dataclass(frozen=True, eq=False)
class JobRoom:
    """The cluster as one job sees it. `elements` are the positions in the family's domain of its options.

    `slot` has the slot of each option, -1 without slots.
    """

    cluster: ClusterRoom
    options: PlaceOptions
    elements: Ints
    slot: Ints
    jobs: Codes  # those of the cluster, by number

    def number(self, job: int) -> int:
        """Return the number of a job in the cluster, -1 if it is not planned."""
        at = np.flatnonzero(self.jobs == job)
        return int(at[0]) if len(at) else -1


class ModelRoom:
    """Reads the capacities of an instance.

    `planned` are the elements of the placement's family that the plan chooses, as code columns, with their values; for
    models with slots, those of all slots. `ends` has the planned end of each job, by code, NaN if it is not known.
    """

    def __init__(
        self, model: CheckedModel, store: ValueStore, limits: MemoryLimits, planned: tuple[Codes, ...], values: Floats,
        ends: Floats,
    ) -> None:  # fmt: skip
        self.model, self.store, self.limits = model, store, limits
        self.read = PlacementEvaluator(model, store, limits)
        self.placement = self.read.placement
        self.planned, self.values, self.ends = planned, values, ends
        position = self.placement.position
        self.job_at, self.node_at, self.slot_at = position("job") or 0, position("node"), position("slot")
        self.type_at = position("node_type")

    @cached_property
    def domain(self) -> Domain:
        """The domain of the placement's family."""
        declared = self.model.variables[self.placement.variable]
        return self.read.ev.index_domain(declared.indexing, declared.span)

    @cached_property
    def capacities(self) -> tuple[CheckedPlacementItem, ...]:
        """The uses that have a capacity."""
        return tuple(item for item in self.placement.all("uses") if item.of is not None)

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """The resources of places; without capacities a job takes a complete node."""
        return tuple(_resource(item, at) for at, item in enumerate(self.capacities)) or (Resource(WHOLE_NODE),)

    def labels(self, at: int, codes: Codes) -> list[str]:
        """Return the labels of codes of an index of the placement."""
        return [str(label) for label in decode_column(self.store.component(self.placement.indices[at].type), codes)]

    def of_job(self, job: int, elements: Ints | None = None) -> JobRoom | None:
        """Return the room of a job; None if the roles do not state capacities of nodes.

        `elements` restricts its options. Raises DiagnosticError as evaluation does.
        """
        if self.node_at is None or self.placement.item("place_from_end") is not None:
            return None  # jobs of a queue have one node together, one after the other
        if elements is None:
            elements = np.asarray(self.domain.positions_with(self.job_at, np.array([job])), dtype=np.int64)
        own = self.domain.columns_at(elements)
        columns = tuple(np.concatenate((mine, planned)) for mine, planned in zip(own, self.planned, strict=True))
        count = len(elements)
        keys = [columns[self.node_at]]
        if self.slot_at is not None:
            keys.append(columns[self.slot_at])
        chooses_type = self.type_at is not None
        if self.type_at is not None:
            keys.append(columns[self.type_at])
        found, place = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
        place = place.reshape(-1)
        frame = self.read.frame(columns)
        if self.capacities:
            amounts = np.column_stack([self.read.ev.number_column(item.value, frame) for item in self.capacities])
            limits = np.column_stack([self.read.capacity(item, frame) for item in self.capacities])
        else:
            amounts, limits = np.ones((len(place), 1)), np.ones((len(place), 1))
        capacity = np.zeros((len(found), limits.shape[1]))
        capacity[place] = limits
        if not np.array_equal(capacity[place], limits):  # it depends on more than the place
            return None
        types, all_types = self._types(columns, place, len(found))
        jobs, job_number = np.unique(columns[self.job_at][count:], return_inverse=True)
        job_number = job_number.reshape(-1)
        part_place, part_end = place[count:], self.ends[columns[self.job_at][count:]]
        uses = amounts[count:] * self.values[:, None]
        resources = self.resources
        if chooses_type:
            nodes = np.unique(found[:, :-1], axis=0, return_inverse=True)[1].reshape(-1)
            stock = self._stock(columns, place, found[:, -1])
            extra = self._exclusions(stock, nodes, found[:, -1], part_place, part_end, job_number)
            # A type without stock has less than nothing left of a resource that nobody needs.
            capacity = np.column_stack((capacity, np.zeros(len(found)), np.where(stock < 1, -1.0, 0.0)))
            amounts = np.column_stack((amounts, np.zeros((len(amounts), 2))))
            uses = np.column_stack((uses, np.zeros((len(uses), 2))))
            more_place, more_job, more_end, kind = extra
            more = np.zeros((len(more_place), uses.shape[1]))
            more[np.arange(len(kind)), uses.shape[1] - 2 + kind] = 1.0
            uses, part_place = np.concatenate((uses, more)), np.concatenate((part_place, more_place))
            job_number, part_end = np.concatenate((job_number, more_job)), np.concatenate((part_end, more_end))
            resources = (*resources, OTHER_TYPE, OUT_OF_STOCK)
        cluster = ClusterRoom(
            resources,
            self.labels(self.node_at, found[:, 0]),
            types,
            capacity,
            self.labels(self.job_at, jobs),
            job_number,
            part_place,
            uses,
            part_end,
            all_types,
        )
        slot = np.full(count, -1, dtype=np.int64) if self.slot_at is None else own[self.slot_at]
        options = self._options(own, place[:count], amounts[:count])
        return JobRoom(cluster, options, elements, slot, jobs)

    def _options(self, own: tuple[Codes, ...], place: Ints, amounts: Floats) -> PlaceOptions:
        if not self.placement.has_gangs:
            return PlaceOptions.of_one_node(place, amounts)
        others = np.stack([column for at, column in enumerate(own) if at != self.node_at], axis=1)
        way = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
        most = most_workers(self.model, self.store, self.limits, own).astype(np.float64)
        return PlaceOptions(place, amounts, way, self.read.gang_workers(self.read.frame(own)), most)

    def _types(self, columns: tuple[Codes, ...], place: Ints, places: int) -> tuple[list[str], tuple[str, ...]]:
        """Return the type of each place, "" if types have no names, and all types."""
        node_type = self.placement.value("node_type")
        if node_type is None or not isinstance(node_type.type, Element | TextType):
            return [""] * places, ()
        codes, texts = type_codes(self.read.ev, node_type, self.read.frame(columns))
        of_place = np.zeros(places, dtype=np.int64)
        of_place[place] = codes
        component = self.store.component(node_type.type)
        names = [str(label) for label in (texts or (component.labels if component is not None else ()))]
        return [names[code] for code in of_place.tolist()], tuple(names)

    def _stock(self, columns: tuple[Codes, ...], place: Ints, kind: Ints) -> Floats:
        """Return how many nodes of the type of each place there may be."""
        stock = self.placement.item("stock")
        found = np.full(len(kind), np.inf)
        if stock is not None:
            found[place] = self.read.ev.number_column(stock.value, self.read.frame(columns))
        return found

    @staticmethod
    def _exclusions(
        stock: Floats, node: Ints, kind: Ints, part: Ints, end: Floats, job: Ints
    ) -> tuple[Ints, Ints, Floats, Ints]:
        """Return what keeps places empty whose type is a decision: the jobs of a node with another type, and a stock.

        `stock`, `node` and `kind` are of places; `part`, `end` and `job` of parts of running jobs, by place. The result
        are such parts: their places, jobs, ends, and 0 (`OTHER_TYPE`) or 1 (`OUT_OF_STOCK`).
        """
        same = (node[part][:, None] == node[None, :]) & (np.arange(len(node))[None, :] != part[:, None])
        of_part, other = np.nonzero(same)
        places, jobs, ends = [other], [job[of_part]], [end[of_part]]
        kinds = [np.zeros(len(other), dtype=np.int64)]
        used = np.unique(part)
        for of_kind in np.unique(kind[used]).tolist():
            open_places = used[kind[used] == of_kind]
            if len(open_places) < stock[open_places[0]]:
                continue
            # The type has a node again once the first of its nodes has lost all of its jobs.
            lasts = np.array([_last(end[part == p]) for p in open_places.tolist()])
            rows = np.flatnonzero(part == open_places[int(np.argmin(lasts))])
            closed = np.flatnonzero((kind == of_kind) & ~np.isin(np.arange(len(kind)), used))
            places.append(np.repeat(closed, len(rows)))
            jobs.append(np.tile(job[rows], len(closed)))
            ends.append(np.tile(end[rows], len(closed)))
            kinds.append(np.ones(len(closed) * len(rows), dtype=np.int64))
        return np.concatenate(places), np.concatenate(jobs), np.concatenate(ends), np.concatenate(kinds)


def _last(ends: Floats) -> float:
    return float(np.where(np.isnan(ends), np.inf, ends).max())


def _resource(item: CheckedPlacementItem, at: int) -> Resource:
    """Name the resource of a capacity: by its unit and its parameter. The first one without a unit counts GPUs."""
    kind, of = item.value.type, item.of
    unit = kind.unit if isinstance(kind, Numeric) else DIMENSIONLESS
    name = of.name if isinstance(of, ParamRef) else ""
    if unit.text in _GPU_UNITS:
        return _GPU
    if unit != DIMENSIONLESS:
        return Resource(name.replace("_", " ") or "capacity", unit.text)
    counted = next((noun for part, noun in _COUNTED.items() if part in name.lower()), "")
    return Resource(counted) if counted else _GPU if at == 0 else Resource(name.replace("_", " ") or "unit")
