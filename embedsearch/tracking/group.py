"""What makes two trials comparable."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from embedsearch.labels import count
from embedsearch.records import TrialSpec, content_id

DEV_PROTOCOL = "spearman of cosine, x100"
"""What a dev score is."""


@dataclass(frozen=True)
class Group:
    """What two trials must share for their scores to be comparable."""

    dev: str
    backbone: str
    corpus: str
    total_steps: int
    protocol: str
    key: str
    """Names the contents of all of it, where the names above could be the same by chance."""
    dev_fingerprint: str = ""

    @classmethod
    def of(cls, spec: TrialSpec) -> Group:
        protocol = f"{DEV_PROTOCOL}, numerics {spec.numerics}"
        sources = (spec.dev, spec.backbone, spec.corpus)
        key = content_id([protocol, spec.total_steps, *(s.fingerprint for s in sources)])
        dev, backbone, corpus = (source.name or source.location for source in sources)
        return cls(dev, backbone, corpus, spec.total_steps, protocol, key, spec.dev.fingerprint)

    @property
    def measure(self) -> tuple[str, str]:
        """What two scores must share to be numbers of one kind: pairs and protocol."""
        return self.dev_fingerprint, self.protocol

    def apart(self, other: Group) -> dict[str, tuple[Any, Any]]:
        """Where the two differ, by what: this one's and the other's; by their keys alone where
        other contents have the same names."""
        own, others = asdict(self), asdict(other)
        names = {"dev": "dev", "backbone": "backbone", "corpus": "corpus", "total_steps": "steps"}
        found = {
            shown: (own[name], others[name])
            for name, shown in names.items()
            if own[name] != others[name]
        }
        same = self.key == other.key
        return found if found or same else {"contents": (self.key[:6], other.key[:6])}

    def __str__(self) -> str:
        return (
            f"dev {self.dev}, backbone {self.backbone}, corpus {self.corpus}, "
            f"{count(self.total_steps, 'step')}"
        )
