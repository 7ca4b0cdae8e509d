"""Puts the experiments' YAML files, not their scripts, into the wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Experiments(BuildHookInterface):  # type: ignore[type-arg]
    """What ``embedsearch run NAME`` finds in an installed package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # they are found in the checkout
            return
        for path in (Path(self.root) / "experiments").glob("*.yaml"):
            build_data["force_include"][str(path)] = f"embedsearch/experiments/{path.name}"
