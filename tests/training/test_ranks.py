"""Processes that train one trial together, by gloo on this machine: as good as one."""

import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from embedsearch import trial
from embedsearch.data.pairs import read_dev_pairs
from embedsearch.durable import write_json
from embedsearch.encoder.model import Encoder
from embedsearch.errors import RankLost
from embedsearch.methods.simcse import SimCSE, SimCSEConfig
from embedsearch.place import Place, Seat
from embedsearch.records import Measurement, Source, Status, TrialSpec
from embedsearch.training.checkpoint import Checkpoint
from embedsearch.training.chunks import CachedGradients
from embedsearch.training.loop import Course, Training
from embedsearch.training.ranks import ALONE, Ranks, Together
from tests.conftest import make_point
from tests.gradients import InOneGraph, deviation, gradients
from tests.test_contract import NAMES, batch, every_term, method_class

TRAINED = [
    name
    for name in NAMES
    if method_class(name).needs != "nothing" and not method_class(name).fitted
]
SIZE = 2


def far_from_one(
    ranks: Ranks, backbones: dict[str, str], name: str, rows: int, device: str = "cpu"
) -> float:
    """How far a batch's gradients are from those that one process computes, relative."""
    found = method_class(name)
    torch.manual_seed(1)
    encoder = Encoder.load(backbones[found.architectures[0]], found.Config().pooling)
    method = found(every_term(found), encoder.to(device)).to(device)
    parameters = list({id(p): p for p in [*encoder.parameters(), *method.parameters()]}.values())
    encoder.train()
    texts = {key: values.to(device) for key, values in batch(found, rows).items()}
    together = CachedGradients(encoder, method, "fp32", parameters, 2, ranks)
    alone = InOneGraph(encoder, method, "fp32", 2, ranks.size)
    return deviation(*(gradients(way, texts, parameters) for way in (together, alone)))


def training(folder: str, state: Path, ranks: Ranks) -> Training:
    torch.manual_seed(3)
    encoder = Encoder.load(folder, "mean")
    config = SimCSEConfig(batch_size=5, learning_rate=1e-3)
    course = Course(config, 6, eval_steps=2, seed=3, precision="fp32", save_s=0)
    method, checkpoint = SimCSE(config, encoder), Checkpoint(state, ranks)
    return Training(encoder, method, lambda step: batch(SimCSE, 5), course, checkpoint, ranks)


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
    open_files = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    inodes = {name[8:-1] for name in open_files if name.startswith("socket:")}
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *rest = line.split()
            if state == "0A" and rest[5] in inodes:
                raw = bytes.fromhex(address.split(":")[0])
                words = struct.unpack(f"<{len(raw) // 4}I", raw)
                found.append(socket.inet_ntop(family, struct.pack(f">{len(words)}I", *words)))
    return found


def seat(number: int, size: int, folder: Path) -> Seat:
    """That finds the others by a file."""

    def tell(value: tuple[str, int]) -> tuple[str, int]:
        path = folder / "where.json"
        if number == 0:
            write_json(path, value)
        while not path.exists():
            time.sleep(0.05)
        host, port = json.loads(path.read_text())
        return host, port

    return Seat(number, size, "127.0.0.1", tell)


def serve(number: int, folder: Path) -> None:
    """One rank: does what ``folder`` asks for, and writes down what came out."""
    asked = json.loads((folder / "asked.json").read_text())
    backbones: dict[str, str] = asked["backbones"]
    torch.set_num_threads(1)
    ranks = Together(seat(number, SIZE, folder), "cpu")
    said: dict[str, Any] = {"listens": own_listeners()}
    said["gradients"] = {
        f"{name}, {rows} rows": far_from_one(ranks, backbones, name, rows)
        for rows, names in ((5, TRAINED), (1, ["tsdae", "gur"]))
        for name in names
    }
    whole = trained(ranks, backbones["bert"], folder / "whole")
    with pytest.raises(RankLost):
        trained(ranks, backbones["bert"], folder / "cut", lost_at=4)
    gone_on = trained(ranks, backbones["bert"], folder / "cut")
    said["goes on"] = all(torch.equal(gone_on[name], whole[name]) for name in whole)
    weights = trained(ranks, backbones["still"], folder / "still")
    alone = trained(ALONE, backbones["still"], folder / f"alone{number}")
    said["weights"] = deviation(list(weights.values()), list(alone.values()))
    said["results"] = {}
    for name, spec in asked["specs"].items():
        seen: list[Measurement] = []
        place = Place(folder / "storage")
        for _ in range(2):  # the second time it is known
            result = trial.run(TrialSpec.from_json(spec), place, seen.append, ranks)
        said["results"][name] = [result.to_json(), [m.step for m in seen]]
    write_json(folder / f"said{number}.json", said)


def ranks_say(size: int, folder: Path, function: str) -> list[dict[str, Any]]:
    """Run a function of this module in so many processes; what each wrote down."""
    program = f"import sys; from pathlib import Path; from {__name__} import {function}\n"
    program += f"{function}(int(sys.argv[1]), Path(sys.argv[2]))"
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(number), str(folder)], cwd=root)
        for number in range(size)
    ]
    try:
        assert [process.wait(timeout=250) for process in running] == [0] * size
    finally:
        for process in running:
            process.kill()
    return [json.loads((folder / f"said{number}.json").read_text()) for number in range(size)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture
def said(
    folder: Path, make_backbone: Callable[..., Path], make_setting: Callable[..., Any]
) -> list[dict[str, Any]]:
    """What both ranks say; they run once for all tests here."""
    if (folder / "said.json").exists():
        found: list[dict[str, Any]] = json.loads((folder / "said.json").read_text())
        return found
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    backbones = {
        "bert": str(make_backbone("bert")),
        "t5": str(make_backbone("t5", n_positions=128)),
        "still": str(make_backbone("bert", **still)),
    }
    good: TrialSpec = make_setting(ranks=SIZE, chunk_size=1).spec(make_point())
    constant = folder / "constant.tsv"
    constant.write_text("1\tone bird\tone bird\n2\ttwo birds\ttwo birds\n")
    dev = Source(str(constant), read_dev_pairs(str(constant)).fingerprint)
    specs = {"good": good, "constant": replace(good, dev=dev)}
    asked = {"backbones": backbones, "specs": {n: spec.to_json() for n, spec in specs.items()}}
    write_json(folder / "asked.json", asked)
    found = ranks_say(SIZE, folder, "serve")
    write_json(folder / "said.json", found)
    return found


def test_gradients_are_those_of_one(said: list[dict[str, Any]]) -> None:
    """Also where the batch can't be divided evenly, and where it is smaller than the ranks are
    many."""
    for found in said:
        assert max(found["gradients"].values()) < 1e-5, found["gradients"]


def test_training_ends_with_the_weights_of_one(said: list[dict[str, Any]]) -> None:
    assert max(found["weights"] for found in said) < 1e-5


def test_lost_and_gone_on_is_the_same_to_the_bit(said: list[dict[str, Any]]) -> None:
    assert all(found["goes on"] for found in said)


def test_the_first_reports_and_all_have_the_result(said: list[dict[str, Any]]) -> None:
    (first, seen), (second, unseen) = (found["results"]["good"] for found in said)
    assert first["status"] == second["status"] == "finished", first["reason"]
    assert first["best_score"] == second["best_score"]
    assert (seen, unseen) == ([0, 2, 4] * 2, [])
    assert first == second  # the second time it is read


def test_what_the_first_alone_finds_ends_all(said: list[dict[str, Any]]) -> None:
    for found in said:
        result, _ = found["results"]["constant"]
        assert result["status"] == "diverged" and "similarities are the same" in result["reason"]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells")
def test_they_listen_on_loopback(said: list[dict[str, Any]]) -> None:
    assert {address for found in said for address in found["listens"]} == {"127.0.0.1"}


def test_a_trial_of_several_is_not_run_by_one(
    make_setting: Callable[..., Any], tmp_path: Path
) -> None:
    spec = make_setting(ranks=2).spec(make_point())
    result = trial.run(spec, Place(tmp_path), lambda _: None)
    assert result.status is Status.FAILED and "of 2 devices, and here is one" in result.reason


def serve_gpu(number: int, folder: Path) -> None:
    torch.cuda.set_device(number)
    size = torch.cuda.device_count()
    ranks = Together(seat(number, size, folder), "cuda")
    backbones = json.loads((folder / "asked.json").read_text())
    names = [name for name in TRAINED if name != "gur"]
    far = {name: far_from_one(ranks, backbones, name, 6, "cuda") for name in names}
    write_json(folder / f"said{number}.json", far)


@pytest.mark.gpu
def test_gpus_by_nccl(make_backbone: Callable[..., Path], tmp_path: Path) -> None:
    """One process a GPU."""
    write_json(tmp_path / "asked.json", {"bert": str(make_backbone("bert"))})
    for far in ranks_say(torch.cuda.device_count(), tmp_path, "serve_gpu"):
        assert max(far.values()) < 1e-4, far
