"""What ``evaluate`` is pointed at: a folder, a name, or a run of the store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from embedsearch.encoder.backbone import EMBEDDED
from embedsearch.errors import UserError
from embedsearch.tracking.ledger import StoreLedger
from embedsearch.tracking.store import Store


@dataclass(frozen=True)
class Target:
    """An encoder, and the trial it came of where it is one of the store's."""

    location: str
    name: str
    """What tables call it."""
    run_id: str | None = None
    backbone: str = ""
    corpus: str = ""


def find_target(text: str, store: Store) -> Target:
    """The encoder ``text`` names: ``runs:/ID``, a run id or its first six digits or more, a folder
    or file, an embedded backbone, a hub name.

    Raises ``UserError`` for nothing, and a run that is not in the store or has no checkpoint there.
    """
    if not text:
        raise UserError("a target is empty: give a folder, a run id, nano or a hub name")
    if not text.startswith("runs:/") and (text in EMBEDDED or Path(text).expanduser().exists()):
        path = Path(text).expanduser()
        name = path.resolve().name if path.exists() and text not in EMBEDDED else text
        return Target(text, name, backbone=name)
    run_id = re.fullmatch(r"(?:runs:/)?([0-9a-fA-F]{6,32})(?:/.*)?", text)
    if not run_id and not text.startswith("runs:/"):
        return Target(text, text, backbone=text)
    found = StoreLedger(store).checkpoint(run_id[1] if run_id else text.removeprefix("runs:/"))
    return Target(found.folder, found.name, found.run_id, found.backbone, found.corpus)
