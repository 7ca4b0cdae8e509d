"""The devices that train one trial together, each on its part of every batch."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from embedsearch.errors import RankLost
from embedsearch.methods.base import Batch
from embedsearch.place import Seat
from embedsearch.training.randomness import random_state, set_random_state

T = TypeVar("T")

_CPU = torch.device("cpu")
_TIMEOUT = timedelta(days=1)
"""Of a rank for another one, which may wait for the trial's lock; one that died is noticed at once
or by whoever started it."""


class Ranks:
    """One of the processes that train a trial together: here the only one.

    All of them do the same, step by step, and so come to the same weights; only the views of a
    batch are computed in parts. What leaves a trace (files, reports, scores) the first does alone.
    """

    number: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        return self.number == 0

    def first(self, work: Callable[[], T]) -> T:
        """What ``work`` gives on the first rank, on all of them; or raises what it raised."""
        return work()

    def gather(self, views: Sequence[Tensor]) -> list[list[Tensor]]:
        """Of each view, the rows (rows, …) of every rank, without a graph.

        A rank that has no rows of a view may lack it, where it lacks those behind it, too.
        """
        return [[view] for view in views]

    def add_up(self, parameters: Sequence[nn.Parameter]) -> None:
        """Let every rank have the sum of all ranks' gradients, or none where none has one."""

    def level(self, tensors: Iterable[Tensor]) -> None:
        """Let every rank have the first one's ``tensors``."""

    @contextmanager
    def own_randomness(self) -> Iterator[None]:
        """Random numbers are each rank's own in here, and before and behind it the same on all."""
        yield


ALONE = Ranks()


class Together(Ranks):
    """One of several. Raises ``RankLost`` from every method where another one is gone."""

    def __init__(self, seat: Seat, device: str) -> None:
        """Takes the seat: makes torch's default process group, by gloo and on GPUs by NCCL too.

        It listens at the seat's address alone, where torch's own start (``env://``) would let its
        store listen at every one. On one machine that is loopback.
        """
        self.number, self.size = seat.number, seat.size
        if ipaddress.ip_address(seat.address).is_loopback:
            loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
            for backend in ("GLOO", "NCCL"):
                os.environ.setdefault(f"{backend}_SOCKET_IFNAME", loopback)
        with _reaching():
            distributed.init_process_group(
                "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo",
                store=_store(seat),
                rank=seat.number,
                world_size=seat.size,
                timeout=_TIMEOUT,
            )

    def first(self, work: Callable[[], T]) -> T:
        """What a rank that is not the first gets has been through a pipe: a copy."""
        said: list[tuple[T | None, Exception | None]] = [(None, None)]
        if self.is_first:
            try:
                said = [(work(), None)]
            except Exception as error:
                said = [(None, error)]
        with _reaching():
            distributed.broadcast_object_list(said, src=0, device=_CPU)
        value, failure = said[0]
        if failure is not None:
            raise failure
        return value  # type: ignore[return-value]

    def gather(self, views: Sequence[Tensor]) -> list[list[Tensor]]:
        known: list[list[tuple[torch.Size, torch.dtype, str]]] = [[] for _ in range(self.size)]
        own = [(view.shape, view.dtype, view.device.type) for view in views]
        with _reaching():
            distributed.all_gather_object(known, own)
            return [self._gather_one(views, known, place) for place in range(max(map(len, known)))]

    def _gather_one(
        self,
        views: Sequence[Tensor],
        known: Sequence[Sequence[tuple[torch.Size, torch.dtype, str]]],
        place: int,
    ) -> list[Tensor]:
        """Padded to one height, as the backends want it."""
        rows = [of_rank[place][0][0] if place < len(of_rank) else 0 for of_rank in known]
        shape, dtype, device = next(of_rank[place] for of_rank in known if place < len(of_rank))
        padded = torch.zeros((max(rows), *shape[1:]), dtype=dtype, device=device)
        if place < len(views):
            padded[: rows[self.number]] = views[place]
        received = [torch.empty_like(padded) for _ in rows]
        distributed.all_gather(received, padded)
        return [values[:count] for values, count in zip(received, rows, strict=True)]

    def add_up(self, parameters: Sequence[nn.Parameter]) -> None:
        held = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int32)
        with _reaching():
            distributed.all_reduce(held, distributed.ReduceOp.MAX)
            summed = [
                p for p, somewhere in zip(parameters, held.tolist(), strict=True) if somewhere
            ]
            for parameter in summed:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            for work in [distributed.all_reduce(p.grad, async_op=True) for p in summed]:
                work.wait()

    def level(self, tensors: Iterable[Tensor]) -> None:
        with _reaching():
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), src=0)

    @contextmanager
    def own_randomness(self) -> Iterator[None]:
        common = int(torch.randint(2**62, ()))
        behind = random_state()
        torch.manual_seed(common + self.number)
        yield
        set_random_state(behind)


def parts(batch: Batch, count: int) -> list[Batch]:
    """The rows of ``batch`` in ``count`` runs, the first ones longer by one where it must be.

    What has fewer rows than there are runs (titles beside pairs) is missing in the last of them.
    """
    split = {name: values.tensor_split(count) for name, values in batch.items()}
    return [
        {name: runs[place] for name, runs in split.items() if len(runs[place])}
        for place in range(count)
    ]


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:  # what the backends raise, whatever happened
        raise RankLost(str(error).strip().partition("\n")[0]) from error


def _store(seat: Seat) -> Any:
    """The first rank's, in which the ranks find each other."""
    listener = None
    if seat.number == 0:
        family = socket.AF_INET6 if ":" in seat.address else socket.AF_INET
        listener = socket.create_server((seat.address, 0), family=family)
    host, port = seat.tell((seat.address, listener.getsockname()[1] if listener else 0))
    return distributed.TCPStore(  # type: ignore[attr-defined]
        host,
        port,
        seat.size,
        is_master=listener is not None,
        master_listen_fd=listener.detach() if listener else None,
        wait_for_workers=False,
    )
