"""Mining over all documents, on as many processes as wanted, in the documents' order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context

from embedsearch.data.documents import Document
from embedsearch.data.mining import Mining, Pair, mine_chunk
from embedsearch.errors import UserError

CHUNK_CHARACTERS = 1 << 19

Mined = tuple[list[Pair], Counter[str]]
"""What ``mine_chunk`` makes of a chunk."""


def mine(
    documents: Iterable[Document],
    mining: Mining,
    seed: int,
    workers: int = 1,
    chunk_characters: int = CHUNK_CHARACTERS,
) -> Iterator[Mined]:
    """The pairs of one chunk of documents after another, the same for any number of ``workers``.

    A chunk holds whole documents of some ``chunk_characters``; at most two a worker are in memory.
    One chunk alone, or one worker, needs no other process. Equal pairs of different chunks are
    still two. Raises ``UserError`` where a process is killed, and for what the documents raise.
    """
    work = partial(mine_chunk, mining=mining, seed=seed)
    stream = chunks(documents, chunk_characters)
    head = list(islice(stream, 2))
    if workers == 1 or len(head) < 2:
        return map(work, chain(head, stream))
    return _in_order(work, chain(head, stream), workers)


def chunks(
    documents: Iterable[Document], characters: int = CHUNK_CHARACTERS
) -> Iterator[list[Document]]:
    """The documents in lists of some ``characters`` each."""
    chunk: list[Document] = []
    size = 0
    for document in documents:
        chunk.append(document)
        size += len(document.title) + len(document.text)
        if size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _in_order(
    work: Callable[[list[Document]], Mined], chunks: Iterable[list[Document]], workers: int
) -> Iterator[Mined]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        ahead: deque[Future[Mined]] = deque()
        try:
            for chunk in chunks:
                ahead.append(pool.submit(work, chunk))
                if len(ahead) == 2 * workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                "mining: a process was killed, perhaps for want of memory; give fewer workers"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)
