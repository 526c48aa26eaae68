"""The table of codes, the code that uses them, the page that explains them and the broken files keep in step."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import navigation
from corpus import FOLDER, corpus

from benchmarks.packages import file_of_test
from benchmarks.packages import sources as package_sources
from gpusched_dsl.language.diagnostics.codes import CODES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
ADVICE = "**What to do:** "

# Codes that no file of the corpus can cause, and a test that does.
ELSEWHERE = {
    "GSM1002": "broken/test_made_files.py::test_texts",
    "GSM1003": "broken/test_made_files.py::test_texts",
    "GSM1019": "broken/test_made_files.py::test_mistakes_are_told_up_to_a_number",
    "GSM1033": "broken/test_made_files.py::test_texts",
    "GSM2004": "broken/test_made_files.py::test_data",
    "GSM2006": "broken/test_made_files.py::test_data",
    "GSM2007": "broken/test_made_files.py::test_a_file_that_expands_too_far",
    "GSM2009": "broken/test_made_files.py::test_data",
    "GSM2019": "data/formats/test_own_tables.py::test_excel_without_its_package",
    "GSM2301": "profiles/test_profile_tables.py::test_cells_that_cannot_be_used",
    "GSM2302": "profiles/test_profile_tables.py::test_pairs_stand_once",
    "GSM2303": "profiles/test_profile_tables.py::test_jobs_are_described_in_one_way",
    "GSM2304": "profiles/test_profile_fitting.py::test_too_little_to_learn_from",
    "GSM2305": "profiles/test_profile_tables.py::test_every_job_is_described",
    "GSM2306": "profiles/test_profile_tables.py::test_a_time_of_zero_does_not_fit",
    "GSM2307": "profiles/test_profile_command.py::test_without_the_package",
    "GSM2308": "profiles/test_profile_fitting.py::test_what_nothing_supports_is_told",
    "GSM4002": "backends/test_registry.py::test_backend_that_cannot_be_loaded",
    "GSM4003": "solving/test_solve.py::test_more_than_a_backend_accepts",
    "GSM4007": "solving/test_solve.py::test_wrong_claims_are_refused",
    "GSM4008": "solving/test_solve.py::test_every_kind_of_broken_point_is_refused",
    "GSM4017": "backends/test_isolated.py::test_a_crash_is_a_diagnostic",
    "GSM4018": "solving/test_abandoned.py::test_the_budget_of_aggregation",
    "GSM4009": "solving/test_solve.py::test_wrong_claims_are_refused",
    "GSM4010": "solving/test_solve.py::test_start_must_fit",
    "GSM4012": "solving/test_solve.py::test_numbers_that_are_none_are_named",
    "GSM4014": "compiling/lowering/test_fixing.py::test_what_the_model_does_not_have",
    "GSM4015": "cli/test_policies.py::test_a_plan_that_breaks_rows",
    "GSM4020": "ir/test_json.py::test_foreign_text",
    "GSM4021": "ir/test_json.py::test_other_version",
    "GSM4022": "ir/test_json.py::test_contradictions_are_told",
    "GSM4024": "workflows/test_alternatives.py::test_what_has_no_alternatives",
    "GSM4025": "workflows/test_flexibility.py::test_what_cannot_be_computed",
    "GSM4026": "workflows/test_flexibility.py::test_what_cannot_be_computed",
    "GSM4027": "workflows/test_flexibility.py::test_what_cannot_be_computed",
    "GSM4037": "reporting/test_two_costs.py::test_a_cost_that_both_state_differently",
    "GSM4023": "backends/test_writers.py::test_lp_needs_a_column",
    "GSM5101": "online/journal/test_journal_damage.py::test_places_where_no_journal_can_be",
    "GSM5102": "online/journal/test_journal_damage.py::test_foreign_files_are_refused",
    "GSM5103": "online/journal/test_journal_damage.py::test_other_formats_are_refused",
    "GSM5104": "online/journal/test_journal.py::test_another_run_is_refused",
    "GSM5105": "online/journal/test_journal_damage.py::test_what_others_changed_is_found",
    "GSM5106": "online/journal/test_journal.py::test_a_second_writer_is_refused",
    "GSM5107": "online/journal/test_journal_damage.py::test_a_full_disk_ends_the_run_and_loses_nothing",
    "GSM5108": "online/journal/test_journal.py::test_a_fresh_run_does_not_take_an_old_journal",
    "GSM5109": "online/journal/test_journal.py::test_a_run_that_goes_another_way_is_refused",
    "GSM5110": "cli/test_run.py::test_plans_that_are_others_when_made_again",
    "GSM5201": "online/live/test_messages.py::test_what_is_no_object",
    "GSM5202": "online/live/test_messages.py::test_wrong_fields",
    "GSM5203": "online/live/test_messages.py::test_wrong_fields",
    "GSM5204": "online/live/test_messages.py::test_wrong_fields",
    "GSM5205": "online/live/test_live_lines.py::test_dates_that_cannot_be_read",
    "GSM5206": "online/live/test_live_run.py::test_the_id_of_another_event_is_refused",
    "GSM5207": "online/live/test_live_cluster.py::test_events_that_do_not_fit",
    "GSM5208": "online/live/test_live_lines.py::test_what_cannot_be_read",
    "GSM5209": "online/live/test_poisoned_events.py::test_numbers_that_no_plan_can_be_made_with",
    "GSM5210": "online/live/test_poisoned_events.py::test_a_journal_with_a_poisoned_event_goes_on_without_it",
    "GSM5301": "campaigns/test_runs.py::test_stores_of_others_are_refused_and_not_touched",
    "GSM5302": "campaigns/test_runs.py::test_stores_of_others_are_refused_and_not_touched",
    "GSM5303": "campaigns/test_runs.py::test_stores_of_others_are_refused_and_not_touched",
    "GSM5304": "campaigns/test_runs.py::test_two_campaigns_on_one_store",
    "GSM5305": "campaigns/test_runs.py::test_a_damaged_result_is_set_aside_and_repeated",
    "GSM5306": "campaigns/test_runs.py::test_a_full_disk_loses_nothing",
    "GSM5307": "campaigns/test_runs.py::test_verification_names_what_changed",
    "GSM5308": "campaigns/test_runs.py::test_a_run_that_kills_its_worker_is_a_failure",
    "GSM5309": "campaigns/test_runs.py::test_unknown_engines",
    "GSM5310": "campaigns/test_runs.py::test_inputs_that_change_during_a_campaign",
    "GSM5311": "campaigns/test_runs.py::test_unknown_campaigns",
    "GSM5312": "campaigns/test_runs.py::test_some_runs_only",
    "GSM5313": "campaigns/test_claims_section.py::test_claims_that_cannot_be_used",
    "GSM5401": "clusters/drivers/test_cluster_file.py::test_files_that_cannot_be_read",
    "GSM5402": "clusters/drivers/test_cluster_file.py::test_errors_are_underlined",
    "GSM5403": "clusters/drivers/test_cluster_file.py::test_errors_are_underlined",
    "GSM5404": "clusters/drivers/test_cluster_file.py::test_unknown_drivers",
    "GSM5405": "clusters/drivers/test_driver_faults.py::test_the_controller_restarts",
    "GSM5406": "clusters/drivers/test_driver_faults.py::test_somebody_else_starts_a_job",
    "GSM5407": "clusters/drivers/test_driver_faults.py::test_an_action_is_refused_once",
    "GSM5408": "clusters/drivers/test_driver_faults.py::test_a_node_with_fewer_gpus_than_the_model_stops_all_actions",
    "GSM5409": "clusters/drivers/test_cluster_file.py::test_records_of_others_are_refused",
    "GSM5410": "clusters/drivers/test_driver_faults.py::test_a_freeze_file_stops_all_actions",
    "GSM5411": "clusters/drivers/test_shadow_report.py::test_without_jobs_there_is_no_report",
    "GSM5230": "online/live/test_live_windows.py::test_slots_without_consecutive_numbers_are_refused",
    "GSM5421": "clusters/drivers/test_broken_plans.py::test_a_plan_that_breaks_a_row_is_not_carried_out",
    "GSM5430": "online/checkpoints/test_damaged_states.py::test_a_damaged_state_is_named_and_left_out",
    "GSM5431": "online/checkpoints/test_damaged_states.py::test_a_folder_that_cannot_be_written",
    "GSM5460": "test_systems.py::test_what_windows_lacks_is_a_diagnostic",
    "GSM5501": "service/test_service.py::test_what_keeps_a_service_from_starting",
    "GSM5502": "service/test_service.py::test_tokens",
    "GSM5503": "service/test_service.py::test_requests_that_do_not_fit",
    "GSM5504": "service/test_service.py::test_limits",
    "GSM5505": "service/test_service.py::test_requests_that_do_not_fit",
    "GSM5506": "service/test_service.py::test_an_ended_session",
    "GSM5508": "entry_points/test_requests.py::test_requests_of_other_sites",
    "GSM5510": "security/test_secrets.py::test_secrets_that_others_can_read",
    "GSM5601": "clusters/inspecting/test_read_clusters.py::test_an_unknown_form_says_what_to_state",
    "GSM5602": "clusters/inspecting/test_stated_nodes.py::test_other_forms_are_refused",
    "GSM5603": "clusters/inspecting/test_slurm_source.py::test_without_slurm_the_error_says_what_is_missing",
    "GSM5610": "clusters/inspecting/test_written_model.py::test_nothing_is_overwritten",
    "GSM5611": "clusters/inspecting/test_written_model.py::test_a_cluster_without_gpus",
    "GSM6001": "cli/test_usage.py::test_wrong_usage",
    "GSM6002": "cli/test_usage.py::test_wrong_usage",
    "GSM6004": "cli/test_check.py::test_an_empty_folder_is_an_error",
    "GSM6008": "cli/test_fmt.py::test_a_file_that_cannot_be_written",
    "GSM6009": "cli/test_solve.py::test_a_warm_start_that_does_not_fit_is_told",
    "GSM6010": "reporting/test_result.py::test_integers_have_no_duals",
    "GSM6011": "cli/test_export_new.py::test_nothing_is_overwritten",
    "GSM6012": "api/test_api.py::test_what_cannot_be_set",
    "GSM6014": "cli/test_usage.py::test_running_out_of_memory_is_no_defect",
    "GSM6016": "cli/test_solve.py::test_a_problem_file_can_be_solved",
    "GSM6017": "cli/test_export_new.py::test_what_a_format_cannot_say_is_told",
    "GSM6018": "cli/test_export_new.py::test_a_model_as_mathematics",
    "GSM6021": "workflows/test_asking_command.py::test_what_cannot_be_asked",
    "GSM6022": "workflows/test_asking_command.py::test_what_cannot_be_asked",
    "GSM6023": "editor/test_server.py::test_without_the_package_the_command_says_what_to_install",
    "GSM6024": "test_extensions.py::test_a_format_of_reports",
    "GSM6025": "test_embedding.py::test_a_fork_after_use_is_refused",
    "GSM6031": "language/test_total_size.py::test_inherited_statements_count_in_each_block",
    "GSM6030": "cli/test_watchdog.py::test_sigterm_ends_each_stage",
    "GSM9002": "reporting/runs/test_contradictions.py::test_a_run_below_its_bound_is_told",
    "GSM9003": "online/test_verified_runs.py::test_a_replay_that_differs_is_found",
    "GSM9999": "cli/test_usage.py::test_a_defect_is_told_without_a_traceback",
    "GSM7001": "online/test_event_loop.py::test_states_that_are_no_whole_numbers_are_refused",
    "GSM7002": "online/test_event_loop.py::test_a_model_without_placement_cannot_be_driven",
    "GSM7003": "online/test_event_loop.py::test_a_journal_of_another_run_is_refused",
    "GSM7004": "online/test_event_loop.py::test_runs_end_after_the_most_events",
    "GSM7005": "online/test_event_loop.py::test_jobs_that_never_run_are_told",
    "GSM7007": "online/live/test_poisoned_events.py::test_a_poisoned_event_is_refused_and_leaves_no_trace",
    "GSM7008": "online/test_verified_plans.py::test_a_plan_that_breaks_a_row_is_told_once",
    "GSM7009": "online/test_offered_load.py::test_a_search_under_load_is_warned_of",
    "GSM7010": "online/test_controllers.py::test_what_cannot_be_divided",
    "GSM7015": "online/rollouts/test_portfolio.py::test_windows_are_refused",
    "GSM7017": "online/rollouts/test_why_gap.py::test_runs_without_parts",
    "GSM7018": "online/test_completed_plans.py::test_a_plan_that_no_values_complete_is_told_once",
    "GSM7019": "online/test_run_interrupts.py::test_plans_that_are_not_found_are_counted",
    "GSM7016": "online/rollouts/test_portfolio.py::test_arrivals_need_rollouts_on_arrays",
    "GSM7011": "policies/gangs/test_gang_runs.py::test_a_part_of_a_gang_ends_the_run",
    "GSM7012": "online/test_programs.py::test_cheats_are_refused",
    "GSM7013": "online/test_programs.py::test_programs_that_fail",
    "GSM7021": "entry_points/test_requests.py::test_a_program_as_the_fallback",
    "GSM7050": "online/live/test_live_windows.py::test_slots_that_passed_are_executed_as_planned",
    "GSM7051": "online/live/test_live_windows.py::test_a_plan_lists_its_later_slots_and_each_border_is_reported",
    "GSM7052": "online/live/test_live_windows.py::test_values_that_contradict_a_plan_do_not_charge_it",
    "GSM7060": "online/test_job_pairs.py::test_pairs_that_arrive_apart_are_told",
    "GSM7014": "online/test_foresight.py::test_a_policy_that_reads_the_real_ends_is_found",
}


@cache
def sections() -> dict[str, tuple[str, str]]:
    """Title and text of each section, by its code."""
    parts = re.split(r"^## (GSM\d{4}) (.+)$", PAGE, flags=re.MULTILINE)
    codes = parts[1::3]
    assert len(codes) == len(set(codes)), "a code has two sections"
    texts = (re.split(r"^# ", text, flags=re.MULTILINE)[0] for text in parts[3::3])
    return dict(zip(codes, zip(parts[2::3], texts, strict=True), strict=True))


@cache
def broken_texts() -> dict[str, list[list[str]]]:
    """The stripped lines of each broken file, by the codes that it gives."""
    texts: dict[str, list[list[str]]] = {}
    for broken in corpus():
        lines = [line.strip() for line in (FOLDER / broken.name).read_text(encoding="utf-8").splitlines()]
        for code in broken.codes:
            texts.setdefault(code, []).append(lines)
    return texts


@cache
def sources() -> dict[str, str]:
    found = [*package_sources(), *(ROOT / "benchmarks" / "leaderboard").glob("*.py")]
    return {str(p): p.read_text(encoding="utf-8") for p in found if p.name != "codes.py"}


def test_each_code_has_its_section() -> None:
    assert {code: title for code, (title, _) in sections().items()} == CODES
    assert list(sections()) == sorted(CODES)


def test_no_other_heading_of_that_level() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    assert all(re.match(r"GSM\d{4} ", heading) for heading in headings)


def test_sections_say_what_to_do() -> None:
    for code in CODES:
        before, advice, after = sections()[code][1].partition(ADVICE)
        assert advice, code
        assert len(after.split()) >= 2, code
        assert before.strip() or len(after.split()) >= 5, code


def test_examples_stand_in_a_broken_file() -> None:
    """Each example is, line by line, from a file that gives this code."""
    for code in CODES:
        bodies = broken_texts().get(code, [])
        for example in re.findall(r"```gsm\n(.*?)```", sections()[code][1], flags=re.DOTALL):
            lines = [line.strip() for line in example.splitlines()]
            assert any(_run_of(lines, body) for body in bodies), f"{code}: {example}"


def _run_of(lines: list[str], body: list[str]) -> bool:
    return any(body[i : i + len(lines)] == lines for i in range(len(body)))


def test_the_code_uses_what_is_in_the_table() -> None:
    used = {code for text in sources().values() for code in re.findall(r'"(GSM\d{4})"', text)}
    assert used - CODES.keys() == set(), "used, but not in the table"
    assert CODES.keys() - used == set(), "in the table, but not used"


def test_codes_that_are_spoken_of_exist() -> None:
    spoken = {code for text in sources().values() for code in re.findall(r"GSM\d{4}", text)}
    pages = {c for p in navigation.pages() for c in re.findall(r"GSM\d{4}", p.read_text(encoding="utf-8"))}
    assert (spoken | pages) - CODES.keys() == set()


def test_titles_are_alike() -> None:
    for title in CODES.values():
        assert title == title.strip()
        assert not title.endswith(".")
        assert title[0].islower() or title[0] in "`", title


# --- every code is provoked -------------------------------------------------------------------------------------------


def test_every_code_has_a_broken_file_or_a_test() -> None:
    in_files = set(broken_texts())
    assert in_files - CODES.keys() == set()
    assert CODES.keys() - in_files - ELSEWHERE.keys() == set(), "neither a broken file nor a test"
    assert in_files & ELSEWHERE.keys() == set(), "a broken file does it"
    assert ELSEWHERE.keys() - CODES.keys() == set()


def test_the_tests_named_exist() -> None:
    for code, test in ELSEWHERE.items():
        file, name = test.split("::")
        text = file_of_test(file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, flags=re.MULTILINE), test
        assert code in text, test
