"""Two processes that train together, by gloo on this machine, are as good as one."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from embedsearch import trial
from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Batch, Method
from embedsearch.methods.simcse import SimCSE, SimCSEConfig
from embedsearch.place import Place, Seat
from embedsearch.records import Measurement, TrialSpec
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.chunks import CachedGradients
from embedsearch.training.loop import Course, Training
from embedsearch.training.ranks import RankLost, Ranks, Together, parts
from tests.conftest import make_point
from tests.test_contract import NAMES, batch, method_class, small
from tests.training.test_chunks import InOneGraph, deviation, gradients

TRAINED = [
    name
    for name in NAMES
    if method_class(name).needs != "nothing" and not method_class(name).fitted
]
SIZE = 2


class RanksInOneGraph(InOneGraph):
    """The same of several ranks, in one process."""

    def drawn(self, batch: Batch) -> Iterator[Batch]:
        common, behind = int(torch.randint(2**62, ())), torch.get_rng_state()
        for number, part in enumerate(parts(batch, SIZE)):
            torch.manual_seed(common + number)
            yield from super().drawn(part)
        torch.set_rng_state(behind)


def made(name: str, backbones: dict[str, str]) -> tuple[Encoder, Method, list[nn.Parameter]]:
    found = method_class(name)
    torch.manual_seed(1)
    encoder = Encoder.load(backbones[found.architectures[0]], found.Config().pooling).train()
    config = small(found)
    if "beta" in type(config).model_fields:
        config = config.model_copy(update={"beta": 0.1})  # with a language model, too
    method = found(config, encoder).train()
    every = {id(p): p for p in [*encoder.parameters(), *method.parameters()]}
    return encoder, method, list(every.values())


def far_from_one(ranks: Ranks, backbones: dict[str, str], name: str, rows: int) -> float:
    """How far the gradients are from those of one process, relative."""
    encoder, method, parameters = made(name, backbones)
    texts = batch(method_class(name), rows)
    shared = CachedGradients(encoder, method, "fp32", parameters, 2, ranks)
    found = gradients(shared, texts, parameters)
    return deviation(
        found, gradients(RanksInOneGraph(encoder, method, "fp32"), texts, parameters)
    )


def training(folder: str, state: Path, ranks: Ranks) -> Training:
    torch.manual_seed(3)
    encoder = Encoder.load(folder, "mean")
    config = SimCSEConfig(batch_size=5, learning_rate=1e-3)
    course = Course(config, 6, eval_steps=2, seed=3, precision="fp32", save_s=0)
    texts = partial(batch, SimCSE, 5)
    method, checkpoint = SimCSE(config, encoder), Checkpoint(state, ranks)
    return Training(encoder, method, lambda step: texts(), course, checkpoint, ranks)


def trained(
    ranks: Ranks, folder: str, state: Path, lost_at: int | None = None
) -> dict[str, torch.Tensor]:
    """The weights at the end."""
    runs = training(folder, state, ranks)

    def report(measurement: Measurement) -> None:
        if measurement.step == lost_at:
            raise RankLost

    def evaluate(encoder: Encoder) -> float:
        return ranks.first(lambda: float(sum(p.detach().sum() for p in encoder.parameters())))

    runs.run(lambda measurement: ranks.first(lambda: report(measurement)), evaluate)
    return runs.encoder.state_dict()


def own_listeners() -> list[str]:
    """The addresses that this process listens on."""
    inodes = {
        os.readlink(fd)[8:-1]
        for fd in Path("/proc/self/fd").iterdir()
        if fd.is_symlink() and os.readlink(fd).startswith("socket:")
    }
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *rest = line.split()
            if state == "0A" and rest[5] in inodes:
                raw = bytes.fromhex(address.split(":")[0])
                words = struct.unpack(f"<{len(raw) // 4}I", raw)
                found.append(socket.inet_ntop(family, struct.pack(f">{len(words)}I", *words)))
    return found


def seat(number: int, folder: Path) -> Seat:
    """That finds the others by a file."""

    def tell(value: tuple[str, int]) -> tuple[str, int]:
        path = folder / "where.json"
        if number == 0:
            (folder / "draft").write_text(json.dumps(value))
            (folder / "draft").rename(path)
        while not path.exists():
            time.sleep(0.05)
        host, port = json.loads(path.read_text())
        return host, port

    return Seat(number, SIZE, "127.0.0.1", tell)


def serve(number: int, folder: Path) -> None:
    """One rank: does what ``folder`` asks for, and the first writes down what came out."""
    asked = json.loads((folder / "asked.json").read_text())
    torch.set_num_threads(1)
    ranks = Together(seat(number, folder), "cpu")
    backbones: dict[str, str] = asked["backbones"]
    said: dict[str, Any] = {"listens": own_listeners()}
    said["gradients"] = {
        f"{name} {rows}": far_from_one(ranks, backbones, name, rows)
        for rows, names in ((6, TRAINED), (5, TRAINED), (1, ["tsdae", "gur"]))
        for name in names
    }
    whole = trained(ranks, backbones["bert"], folder / "whole")
    try:
        trained(ranks, backbones["bert"], folder / "cut", lost_at=4)
    except RankLost:
        gone_on = trained(ranks, backbones["bert"], folder / "cut")
        said["gone on"] = all(torch.equal(gone_on[name], whole[name]) for name in whole)
    weights = trained(ranks, backbones["still"], folder / "still")
    if ranks.is_first:
        alone = trained(Ranks(), backbones["still"], folder / "alone")
        said["weights"] = deviation(list(weights.values()), list(alone.values()))
    for name in ("good", "constant"):
        spec, seen = TrialSpec.from_json(asked[name]), []
        result = trial.run(spec, Place(folder / "storage"), seen.append, ranks)
        said[name] = [result.status, result.reason, result.best_score, [m.step for m in seen]]
    (folder / f"said{number}.json").write_text(json.dumps(said))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture
def asked(
    folder: Path, make_backbone: Callable[..., Path], make_setting: Callable[..., Any]
) -> dict[str, Any]:
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    backbones = {
        "bert": make_backbone("bert"),
        "t5": make_backbone("t5", n_positions=128),
        "still": make_backbone("bert", **still),
    }
    (folder / "constant.tsv").write_text("1\tone bird\tone bird\n2\ttwo birds\ttwo birds\n")
    setting = make_setting(ranks=SIZE, threads=SIZE, chunk_size=1)
    good: TrialSpec = setting.spec(make_point())
    dev = replace(good.dev, location=str(folder / "constant.tsv"))
    from embedsearch.data.pairs import read_dev_pairs

    dev = replace(dev, fingerprint=read_dev_pairs(dev.location).fingerprint)
    return {
        "backbones": {name: str(path) for name, path in backbones.items()},
        "good": good.to_json(),
        "constant": replace(good, dev=dev).to_json(),
    }


@pytest.fixture
def said(folder: Path, asked: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """What both ranks said; they run once for all tests here."""
    paths = [folder / f"said{number}.json" for number in range(SIZE)]
    if not all(path.exists() for path in paths):
        (folder / "asked.json").write_text(json.dumps(asked))
        program = "import sys; from pathlib import Path; from tests.training import test_ranks\n"
        program += "test_ranks.serve(int(sys.argv[1]), Path(sys.argv[2]))"
        root = Path(__file__).parents[2]
        running = [
            subprocess.Popen([sys.executable, "-c", program, str(number), str(folder)], cwd=root)
            for number in range(SIZE)
        ]
        assert [process.wait(timeout=200) for process in running] == [0] * SIZE
    yield [json.loads(path.read_text()) for path in paths]


def test_gradients_are_those_of_one(said: list[dict[str, Any]]) -> None:
    """Also where the batch is not even, and where it is smaller than the ranks are many."""
    for found in said:
        assert max(found["gradients"].values()) < 1e-4, found["gradients"]
