"""What a long corpus costs a worker: memory, and time on a second sweep."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from embedsearch.data.corpus import open_corpus
from experiments.benchmarks.row import Inputs, Row

SHORT, LONG = 10_000, 1_000_000


def rows(inputs: Inputs) -> Iterator[Row]:
    """Peak memory of a process that opens, tokenises and trains; then the time of a second one."""
    with tempfile.TemporaryDirectory() as folder:
        peaks, seconds = {}, {}
        for lines in (SHORT, LONG):
            file = _corpus(inputs, Path(folder), lines)
            peaks[lines], first = _worker(file, Path(folder) / "cache")
            _, second = _worker(file, Path(folder) / "cache")
            seconds[lines] = first, second
    yield Row(
        f"peak memory of a worker, {LONG:,} lines",
        f"{peaks[LONG]:.0f} MB",
        f"{peaks[SHORT]:.0f} MB with {SHORT:,}",
        f"+{peaks[LONG] - peaks[SHORT]:.0f} MB",
        "at most +300 MB",
    )
    first, second = seconds[LONG]
    yield Row(
        f"corpus of {LONG:,} lines to the first batch, second sweep",
        f"{second:.1f} s",
        f"{first:.1f} s the first time",
        f"{first / second:.0f}x",
        "no tokenising again",
    )


def _corpus(inputs: Inputs, folder: Path, lines: int) -> Path:
    source = list(open_corpus(inputs.corpus, cache=folder / "source"))
    file = folder / f"{lines}.txt"
    with file.open("w", encoding="utf-8") as out:
        for row in range(lines):
            out.write(f"{source[row % len(source)]} {row}\n")
    return file


def _worker(file: Path, cache: Path) -> tuple[float, float]:
    """Peak megabytes, and seconds from opening the corpus to the first batch."""
    command = [sys.executable, "-m", "experiments.benchmarks.memory", str(file), str(cache)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1])


def _measured(file: Path, cache: Path) -> str:
    from embedsearch.data.batches import Batches
    from embedsearch.data.tokens import tokenise
    from embedsearch.encoder.model import Encoder

    encoder = Encoder.load("nano", "mean").train()
    begun = time.perf_counter()
    corpus = open_corpus(file, cache=cache)
    tokens = tokenise(corpus, encoder.tokenizer, 32, cache=cache)
    order = Batches(len(tokens), 64, 0)
    total = encoder.encode(tokens.batch(order.indices(0))).sum()
    total.backward()  # type: ignore[no-untyped-call]
    seconds = time.perf_counter() - begun
    return f"{megabytes('VmHWM'):.1f} {seconds:.2f}"


def megabytes(which: str) -> float:
    """Of this process, by the kernel's name: ``VmHWM`` is the peak, ``VmRSS`` what it holds now.

    ``getrusage`` would say its parent's peak where that was larger.
    """
    status = Path("/proc/self/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith(which)]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.stdout.write(_measured(Path(sys.argv[1]), Path(sys.argv[2])))
