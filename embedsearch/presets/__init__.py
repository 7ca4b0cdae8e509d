"""Backbone, corpus, dev pairs and budget under one name: ``demo``, ``paper`` or the user's file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from embedsearch.config import unknown, validate
from embedsearch.document import read_yaml
from embedsearch.errors import UserError

FOLDER = Path(__file__).parent
WORDS = frozenset({"demo", "nano", "nano-t5"})
"""What travels with the package, and is therefore never taken for a file."""

Cap = Annotated[int, Field(ge=1)]


class MethodPreset(BaseModel):
    """What a preset says of one method."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    backbone: str | None = Field(None, min_length=1)
    """In the place of the preset's, for a method that can't train that one."""
    learning_rate_factor: float = Field(1.0, gt=0)
    """Times what the space or the class says, never what a preset or the command line says."""
    values: dict[str, Any] = {}
    """Hyperparameters by name; typed by the method."""
    max_trials: dict[str, Cap] = {}
    """The most trials of a grid, by the grid's name."""


class Preset(BaseModel):
    """The surroundings of a sweep, and how long its trials train (``steps`` or ``epochs``)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str = Field(min_length=1)
    about: str = ""
    backbone: str = Field(min_length=1)
    corpus: str = Field(min_length=1)
    dev: str = Field(min_length=1)
    holds: Literal["sentences", "documents"] | None = None
    """What the corpus is of; None where that is not known before it is read, or it is of both."""
    steps: int | None = Field(None, ge=1)
    epochs: float | None = Field(None, gt=0)
    eval_steps: int = Field(125, ge=1)
    seed: int = Field(0, ge=0, lt=2**32)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    cpus_per_trial: int = Field(1, ge=1)
    gpus_per_trial: float | None = Field(None, ge=0)
    """None: 1 where trials run on a GPU, else 0. Several share each batch of a trial."""
    chunk_size: int | None = Field(None, ge=1)
    """Rows that a device encodes at once; None for all of a batch."""
    max_trials: Cap | None = None
    """The most trials of any grid that has no cap of its own."""
    values: dict[str, Any] = {}
    """Hyperparameters of every method."""
    methods: dict[str, MethodPreset] = {}

    @model_validator(mode="after")
    def _has_one_length(self) -> Self:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give either 'steps' or 'epochs', one of the two")
        return self

    def method(self, name: str) -> MethodPreset:
        """What this preset says of a method, nothing included."""
        return self.methods.get(name, MethodPreset())

    def values_of(self, method: str) -> dict[str, Any]:
        """The hyperparameters it sets for a method; the method's own win over the common ones."""
        return {**self.values, **self.method(method).values}

    def cap(self, method: str, grid: str) -> int | None:
        """The most trials of one grid; None for all."""
        return self.method(method).max_trials.get(grid, self.max_trials)

    def replaced(self, **parts: Any) -> Self:
        """This preset with other parts, checked; ``steps`` takes the place of ``epochs``."""
        said = {key: getattr(self, key) for key in self.model_fields_set}
        if {"steps", "epochs"} & parts.keys():
            said.update(steps=None, epochs=None)
        return validate(type(self), {**said, **parts})


def load_preset(name_or_path: str | Path) -> Preset:
    """A shipped preset by name, or the user's by the path of a YAML file.

    A relative path in it starts at its folder. Raises ``UserError`` naming file, line and key.
    """
    path = shipped_presets().get(str(name_or_path), Path(name_or_path))
    if not path.is_file():
        hint = unknown("preset or file", str(name_or_path), shipped_presets())
        raise UserError(f"{hint}: take one of these, or the path of your own YAML file")
    table = read_yaml(path)
    table.setdefault("name", path.stem)
    preset = validate(Preset, table)
    return preset.model_copy(update=_located_parts(preset, path.parent))


def shipped_presets() -> dict[str, Path]:
    """The presets that come with the package, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def _located_parts(preset: Preset, folder: Path) -> Mapping[str, Any]:
    return {
        "methods": {
            name: own
            if own.backbone is None
            else own.model_copy(
                update={"backbone": _from_folder(own.backbone, folder, may_be_name=True)}
            )
            for name, own in preset.methods.items()
        },
        "backbone": _from_folder(preset.backbone, folder, may_be_name=True),
        "corpus": _from_folder(preset.corpus, folder),
        "dev": _from_folder(preset.dev, folder),
    }


def _from_folder(location: str, folder: Path, *, may_be_name: bool = False) -> str:
    """``location`` as seen from a preset's folder: a word, ``hf:…`` and a hub name stay."""
    if location in WORDS or location.startswith("hf:"):
        return location
    path = folder / Path(location).expanduser()
    is_name = may_be_name and not location.startswith((".", "~", "/")) and not path.exists()
    return location if is_name else str(path)
