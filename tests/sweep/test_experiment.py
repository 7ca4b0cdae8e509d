"""What an experiment's file may say, and where it is told that it can't."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from embedsearch.errors import UserError
from embedsearch.presets import Preset
from embedsearch.sweep.experiment import Experiment, find_experiment, load_experiment
from tests.sweep.test_space_range import draw

HEAD = "about: a table\nbaseline: full\nfigures:\n  STS: test\n"
ROWS = "rows:\n- label: full\n  method: scd\n  values: {alpha: 0.005}\n  printed: {STS: 73.96}\n"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def do(text: str, name: str = "table.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return do


def preset(**parts: object) -> Preset:
    return Preset(name="x", backbone="nano", corpus="demo", dev="demo", steps=1, **parts)


def values(experiment: Experiment, row: int, given: Preset) -> list[dict[str, object]]:
    points = experiment.rows[row].points(given, "bert", None, draw).points
    return [dict(point.values) for point in points]


def test_a_file_says_what_its_table_is(write: Write) -> None:
    more = "paper: us\ntable: Table 1\nseeds: 3\nnotes: [mind this]\n"
    found = load_experiment(write(HEAD + more + ROWS, "my-table_1.yaml"))
    assert (found.name, found.about, found.paper, found.table) == (
        "my-table_1", "a table", "us", "Table 1",
    )  # fmt: skip
    assert (found.seeds, found.notes, found.figures) == (3, ("mind this",), {"STS": "test"})
    [row] = found.rows
    assert (row.label, row.space.name, row.printed) == ("full", "scd", {"STS": 73.96})


def test_values_lie_over_the_preset_and_fixed_ones_under_it(write: Write) -> None:
    text = ROWS + "- {label: b, method: simcse, values: {learning_rate: [1e-5, 3e-5]}}\n"
    fixed = "fixed:\n  simcse: {batch_size: 1024, max_length: 16}\n"
    found = load_experiment(write(HEAD + fixed + text))
    methods = {"simcse": {"learning_rate_factor": 10}, "scd": {"values": {"alpha": 0.5}}}
    small = preset(values={"batch_size": 8}, methods=methods)
    assert [v["batch_size"] for v in values(found, 1, preset())] == [1024, 1024]
    rows = values(found, 1, small)
    assert [(v["batch_size"], v["max_length"]) for v in rows] == [(8, 16)] * 2
    assert [v["learning_rate"] for v in rows] == [1e-4, 3e-4]
    assert values(found, 0, small)[0]["alpha"] == 0.005


def test_a_row_may_be_a_grid_of_the_space_or_nothing_but_defaults(write: Write) -> None:
    text = ROWS + "- {label: a, method: scd, grid: log}\n- {label: b, method: frozen}\n"
    found = load_experiment(write(HEAD + text))
    assert len(values(found, 1, preset())) == 72
    assert len(values(found, 1, preset(methods={"scd": {"max_trials": {"log": 5}}}))) == 5
    assert [v["pooling"] for v in values(found, 2, preset())] == ["mean"]


def test_a_row_may_be_what_the_spaces_conditions_leave_out(write: Write) -> None:
    row = "- {label: one rate, method: scd, values: {r_a: 0.1, r_b: 0.1}}\n"
    [found] = values(load_experiment(write(HEAD + ROWS + row)), 1, preset())
    assert found["r_a"] == found["r_b"] == 0.1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("about: a table\n", "", "the key 'about' is missing"),
        ("baseline: full", "baseline: fall", "line 2, baseline: no row 'fall', perhaps 'full'"),
        ("figures", "figure", "line 3, figure: no key 'figure', perhaps 'figures'"),
        ("about", "seeds: 0\nabout", "line 1, seeds: '0' should be greater"),
        ("rows", "fixed: {scdd: {}}\nrows", "no method in the rows 'scdd', perhaps 'scd'"),
        ("rows", "fixed: {scd: {a: 1}}\nrows", "line 5, fixed.scd.a: no hyperparameter 'a'"),
        ("method: scd", "method: sdc", "line 7, rows[0].method: no method 'sdc', perhaps 'scd'"),
        ("values: {alpha", "valeus: {alpha", "line 8, rows[0].valeus: no key 'valeus', perhaps"),
        ("alpha: 0.005", "alhpa: 1", "line 8, rows[0].values.alhpa: no hyperparameter 'alhpa'"),
        ("alpha: 0.005", "alpha: x", "line 8, rows[0].values.alpha: 'x' is no number"),
        ("alpha: 0.005", "alpha: [1, 2]", "line 6, rows[0]: the baseline is one point"),
        ("alpha: 0.005", "alpha: {low: 1, high: 2}", "line 6, rows[0]: the baseline is one point"),
        ("alpha: 0.005", "alpha: {step: 1, within: 2}", "line 8, rows[0].values.alpha: depends"),
        ("values: {alpha: 0.005}", "grid: corse", "line 8, rows[0].grid: no grid 'corse', perhaps"),
        ("values: {alpha: 0.005}", "grid: fine", "line 8, rows[0].grid: lies around"),
        ("  values", "  grid: log\n  values", "line 6, rows[0]: takes its points from 'grid' or"),
        ("{STS: 73", "{ST: 73", "line 9, rows[0].printed.ST: no figure 'ST', perhaps 'STS'"),
        ("73.96", "high", "line 9, rows[0].printed.STS: 'high' is no number"),
        ("73.96", "nan", "line 9, rows[0].printed.STS:"),
    ],
)  # fmt: skip
def test_mistakes_are_named_by_file_line_and_key(
    old: str, new: str, message: str, write: Write
) -> None:
    path = write((HEAD + ROWS).replace(old, new, 1))
    with pytest.raises(UserError) as caught:
        load_experiment(path)
    said = str(caught.value)
    assert said.startswith(f"{path}") and message in said and "\n" not in said


def test_labels_are_unique_and_printed_figures_of_one_point(write: Write) -> None:
    with pytest.raises(UserError, match=r"line 10, rows\[1\]\.label: 'full' is another row's"):
        load_experiment(write(HEAD + ROWS + "- {label: full, method: frozen}\n"))
    many = "- {label: b, method: scd, values: {alpha: [1, 2]}, printed: {STS: 1}}\n"
    with pytest.raises(UserError, match=r"line 10, rows\[1\]: a row with printed figures"):
        load_experiment(write(HEAD + ROWS + many))


def test_a_file_that_is_not_there_names_the_nearest(write: Write) -> None:
    path = write(HEAD + ROWS)
    with pytest.raises(UserError, match=r"no experiment '.*tabel\.yaml', perhaps '.*table\.yaml'"):
        load_experiment(path.with_name("tabel.yaml"))
    with pytest.raises(UserError, match="letters, digits"):
        load_experiment(write(HEAD + ROWS, "my table.yaml"))


def test_one_is_found_by_its_name_or_its_path(tmp_path: Path, write: Write) -> None:
    """The shipped one, unless the working folder has another under that name."""
    shipped = find_experiment("scd_table3")
    assert load_experiment("scd_table3").name == "scd_table3"
    assert find_experiment(shipped) == shipped
    own = tmp_path / "experiments"
    own.mkdir()
    write(HEAD + ROWS, "experiments/scd_table3.yaml")
    write(HEAD + ROWS, "experiments/mine.yaml")
    assert find_experiment("scd_table3").resolve() == own / "scd_table3.yaml"
    assert find_experiment("mine").resolve() == own / "mine.yaml"
    assert find_experiment(shipped) == shipped


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("scd_tabel3", "scd_table3"),
        ("scd_table3.yaml", "scd_table3"),
        ("experiments/scd_table3.yaml", "scd_table3"),
    ],
)
def test_a_name_that_is_none_offers_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UserError, match=f"no experiment '{name}', perhaps '{near}' .*vascl_delta"):
        find_experiment(name)
