"""The launch files: as Ray's own launcher takes them, locked, and the Slurm job run for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from embedsearch.sweep.search.cluster import prepare

FOLDER = Path(__file__).parents[2] / "experiments" / "cluster"
LAUNCHED = sorted(FOLDER.glob("*.yaml"))
SLURM = FOLDER / "slurm.sh"
Make = Callable[..., Any]

STAND_INS = {
    "scontrol": "#!/bin/sh\nprintf '127.0.0.2\\n127.0.0.3\\n'\n",
    "srun": """#!/bin/sh
for word; do shift; case $word in --nodelist=*) node=${word#*=};; --*) ;; *) break;; esac; done
[ "$word" = hostname ] && exec echo "$node"
echo "$node $word $*" >> started.txt
exec "$word" "$@"
""",
}
"""Of Slurm's commands: two nodes, which are addresses of this machine."""


@pytest.fixture(autouse=True)
def _prepared() -> None:
    """Ray is imported here, and other tests of this process start it after that."""
    prepare()


@pytest.mark.parametrize("path", LAUNCHED, ids=lambda path: path.stem)
def test_ray_takes_it(path: Path) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    config = prepare_config(given)
    validate_config(config)
    assert config["head_node_type"] in config["available_node_types"]
    assert (FOLDER.parents[1] / given["file_mounts"]["~/embedsearch"] / "pyproject.toml").is_file()


def test_ray_refuses_what_it_does_not_know() -> None:
    from jsonschema import ValidationError
    from ray.autoscaler._private.util import prepare_config, validate_config

    given = yaml.safe_load((FOLDER / "on_premise.yaml").read_text(encoding="utf-8"))
    with pytest.raises(ValidationError):
        validate_config(prepare_config({**given, "head_start_commands": ["ray start"]}))


@pytest.mark.parametrize("path", [*LAUNCHED, SLURM], ids=lambda path: path.stem)
def test_nothing_of_it_is_open(path: Path) -> None:
    """A token locks every node, the head has no dashboard, and nothing is bound to everywhere."""
    text = path.read_text(encoding="utf-8")
    assert "0.0.0.0" not in text and "--dashboard-host" not in text
    starts = len(re.findall(r"\bray start ", text))
    locked = text.count("RAY_AUTH_MODE=token")
    assert locked == starts if path in LAUNCHED else (locked == starts == 1)
    assert text.count("--head ") == text.count("--include-dashboard=false") == 1
    if path.stem == "aws":  # without one, Ray makes one that lets ssh in from anywhere
        nodes = yaml.safe_load(text)["available_node_types"].values()
        assert all(node["node_config"]["SecurityGroupIds"] for node in nodes)


def test_bash_reads_the_slurm_job() -> None:
    subprocess.run(["bash", "-n", str(SLURM)], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", str(SLURM)], check=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_slurm_job_sweeps_over_two_nodes(make_setting: Make, tmp_path: Path) -> None:
    """With stand-ins for Slurm's commands: Ray joins two addresses, locked, and nothing stays."""
    preset = {
        "backbone": make_setting().backbone.location,
        "corpus": str(tmp_path / "corpus.txt"),
        "dev": str(tmp_path / "dev.tsv"),
        "steps": 4,
        "eval_steps": 2,
        "values": {"batch_size": 4, "pooling": "mean"},
        "methods": {"scd": {"values": {"projector_dim": 8}}},
    }
    (tmp_path / "tiny.yaml").write_text(json.dumps(preset))
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in STAND_INS.items():
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    job = str(20_000 + os.getpid() % 10_000)
    words = ["scd", "--preset", "tiny.yaml", "--max-trials", "4", "--json", "--storage", "work"]
    done = subprocess.run(
        ["bash", str(SLURM), *words],
        cwd=tmp_path,
        env={
            **{k: v for k, v in os.environ.items() if not k.startswith("RAY_")},
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SLURM_JOB_ID": job,
            "SLURM_JOB_NODELIST": "two",
        },
        capture_output=True,
        text=True,
        timeout=500,
    )
    shutil.rmtree(f"/tmp/ray-{job}", ignore_errors=True)
    assert done.returncode == 0, done.stderr
    assert "2 at once" in done.stderr
    assert json.loads(done.stdout)["trials"] == 4
    started = (tmp_path / "started.txt").read_text().splitlines()
    assert [line.split()[0] for line in started] == ["127.0.0.2", "127.0.0.3"]
    assert not list(tmp_path.glob(".ray-token-*"))
