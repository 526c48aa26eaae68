"""The synthetic instances of GPU sharing: their files, the size of the models, and optima that both solvers prove."""

from pathlib import Path

import pytest

import gpusched_dsl as gs
from benchmarks.data_scripts import MODELS, script

FILE = MODELS / "gpu_sharing" / "scenarios" / "cluster_10x20.gsm"
DATA = MODELS / "gpu_sharing" / "data" / "cluster_10x20"


def test_files_are_what_the_script_makes(tmp_path: Path) -> None:
    script(DATA / "generate_sharing.py").main(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(path.name for path in DATA.glob("*.csv"))
    assert len(made) == 14
    for name in made:
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_numbers_follow_their_rules() -> None:
    generator = script(DATA / "generate_sharing.py")
    jobs, slowdown = generator.generate(7, 10, 200)
    for job in jobs:
        fastest, slowest = min(job.times.values()), max(job.times.values())
        assert fastest <= job.deadline <= 1.2 * min(3 * fastest, slowest)
        assert 0.0254 <= job.weight <= 0.0444
        assert all(11 <= epochs <= 100 for epochs in job.epochs)
        for gpu in generator.RATES:
            hours = [job.times[gpu, k] for k in range(1, 9)]
            assert hours == sorted(hours, reverse=True)
    assert all(1.01 <= by <= generator.MOST_SLOWDOWN[key] for key, by in slowdown.items())
    # Means of the four laws, from their cumulated distribution functions.
    for network, mean in zip(generator.NETWORKS, (83.849, 33.434, 26.081, 56.350), strict=True):
        ends = generator.np.random.default_rng(1)
        assert sum(generator._epochs(network, ends) for _ in range(20_000)) / 20_000 == pytest.approx(mean, rel=0.01)


def test_the_compact_form_has_a_tenth_of_the_rows_of_the_printed_one() -> None:
    from gpusched_dsl.compiling.passes.pipeline import reformulate
    from gpusched_dsl.compiling.passes.steps import Target

    model = gs.load(FILE)
    compact, printed = model.ground("Sharing10x20Matching"), model.ground("Sharing10x20Printed")
    assert (compact.columns, compact.rows) == (11_144, 2_390)
    linear = reformulate(printed, Target("highs")).problem
    assert linear.columns > 2 * compact.columns
    assert linear.rows > 10 * compact.rows


# sharing on and off, by seed: found by HiGHS and SCIP
OPTIMA = {1: (442.5341, 516.0998), 2: (588.4212, None), 3: (483.7078, None)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", OPTIMA)
@pytest.mark.parametrize("backend", ["highs", "scip"])
@pytest.mark.timeout(1800)
def test_ten_nodes_and_twenty_jobs(seed: int, backend: str) -> None:
    text = FILE.read_text(encoding="utf-8").replace("10x20_seed1", f"10x20_seed{seed}")
    model = gs.loads(text, base=FILE.parent, allow_outside=True)
    for sharing, optimum in zip(("on", "off"), OPTIMA[seed], strict=True):
        if optimum is not None:
            result = model.solve("Sharing10x20Matching", backend, gap=0, settings={"sharing": sharing})
            assert result.status == "optimal"
            assert result.objective == pytest.approx(optimum, abs=6e-5)
