"""What prevents rollouts on arrays: lines of the block or the policy with effects that they do not have."""

from __future__ import annotations

from gpusched_dsl.language.checked import Element
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.planners.policy import PolicyPlanner
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.online.replay.eligibility import forms_of, replay_facts, role_obstacles
from gpusched_dsl.online.replay.failing import PartialValues
from gpusched_dsl.policies.kinds import appends, has_gangs, has_slots
from gpusched_dsl.policies.rows.problem import rows_over_places
from gpusched_dsl.policies.rules import FINISH_CODES, PLACE_CODES
from gpusched_dsl.policies.standalone import is_standalone

_SEARCHES = {"repeat": "repeat", "moves": "improve", "draws": "randomise", "stages": "profile or admit",
             "memories": "remember", "again": "again", "split": "split"}  # fmt: skip


def reasons_against(loop: EventLoop, planner: Planner) -> list[str]:
    """Return the reasons against rollouts on arrays with plans by a planner, each the end of `... because`."""
    inner = planner.planner if isinstance(planner, StatelessPlanner) else planner
    if not isinstance(inner, PolicyPlanner):
        return [f"`{planner.name}` is a solver"]
    return [*reasons_of_block(loop), *_of_policy(inner, loop.online)]


def reasons_of_block(loop: EventLoop) -> list[str]:
    """Return the reasons against rollouts on arrays with plans by any planner."""
    online, placement = loop.online, loop.placement
    found = [f"the block has a line `{word}`" for word, stated in (
        ("work", online.work), ("speed", online.speed), ("on", online.changes), ("outage", online.outages),
        ("charge", online.charges),
    ) if stated]  # fmt: skip
    facts = replay_facts(online)
    others = facts.carried - facts.slopes.keys()
    found += [f"`{name}` is carried, and is neither the work left nor a time" for name in sorted(others)]
    if placement.item("node_rate") is not None and online.charged == "":
        found.append("the cost of a node depends on all of its jobs")
    if placement.has_gangs:
        found.append("jobs are gangs")
    if placement.item("lasts") is None:
        found.append("the placement does not state how long a job lasts")
    job = placement.index("job")
    if job is None or not isinstance(job.type, Element) or job.type.root != loop.jobs_root:
        found.append("the placement does not state the job by an index")
    return found


def _of_policy(planner: PolicyPlanner, online: CheckedOnline) -> list[str]:
    policy = planner.policy
    found = [f"`{policy.name}` has a line `{word}`" for name, word in _SEARCHES.items() if getattr(policy, name)]
    if has_gangs(policy) or has_slots(policy) or appends(policy) or is_standalone(policy):
        found.append(f"`{policy.name}` places jobs in another way than one after the other")
    placement = policy.model.placement
    job = None if placement is None else placement.index("job")
    if placement is not None and job is not None and isinstance(job.type, Element):
        forms = forms_of(policy, replay_facts(online), job.type.root)
        partial = PartialValues(forms.still)
        for item in placement.items:
            found += role_obstacles(item, policy, forms, partial, job)
    if placement is not None and (side := rows_over_places(policy.model)):
        found.append(f"each plan obeys `{side[0]}`, which no role of the placement implies")
    rules = [*policy.place, *policy.finish, *policy.keep]
    known = {*PLACE_CODES, *FINISH_CODES, "running", "nodes"}
    found += [f"`{policy.name}` has the rule `{rule.text}`" for rule in rules if rule.text not in known]
    return found
