"""From what a command line says to what all its trials share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from embedsearch.cli.options import SettingChoices
from embedsearch.cli.site import Site, device_of, site
from embedsearch.data.corpus import open_corpus
from embedsearch.data.documents import KeptDocuments, keep_documents, keep_sentences, open_documents
from embedsearch.data.pairs import ScoredPairs, find_pairs, read_dev_pairs
from embedsearch.encoder.backbone import describe, fingerprint, locate
from embedsearch.errors import UserError
from embedsearch.labels import count
from embedsearch.methods.base import Needs
from embedsearch.place import Place
from embedsearch.presets import WORDS, Preset, load_preset
from embedsearch.records import Source
from embedsearch.setting import Setting


@dataclass(frozen=True)
class Surroundings(Site):
    """And on what they run."""

    preset: Preset
    setting: Setting


def surroundings(
    choices: SettingChoices, gpus: float, address: str | None, method: str, needs: Needs
) -> Surroundings:
    """Resolve every choice; nothing is chosen silently (``said``).

    ``gpus``: how many there are to run on; ``needs``: what the ``method`` trains on. Raises
    ``UserError`` for what does not exist or can't be.
    """
    preset, why = _preset(choices, gpus, method, needs)
    _must_hold(preset, choices, method, needs)
    trains = needs != "nothing"
    device = device_of(preset.device, gpus)
    precision = _precision(preset.precision, device)
    cluster, place = site(
        choices.storage, address, device, preset.cpus_per_trial, preset.gpus_per_trial
    )
    facts = describe(preset.backbone)
    print_of = fingerprint(Path(facts.location))
    backbone = Source(facts.location, print_of, _name(preset.backbone))
    corpus, rows = _READ[needs](preset, choices, place)
    dev = read_dev_pairs(preset.dev)
    _check_selection(dev, choices.select)
    setting = Setting(
        preset=preset.name,
        backbone=backbone,
        facts=facts,
        corpus=corpus,
        rows=rows,
        dev=Source(_dev_file(preset.dev), dev.fingerprint, dev.name),
        steps=preset.steps,
        epochs=preset.epochs,
        eval_steps=preset.eval_steps,
        seed=preset.seed,
        device=device,
        precision=precision,
        threads=preset.cpus_per_trial,
        cache=place.cache,
        chunk_size=preset.chunk_size,
        ranks=_ranks(cluster.gpus_per_trial),
    )
    length = count(preset.steps, "step") if preset.steps else f"{preset.epochs:g} epochs"
    parts = [
        f"preset {preset.name}{why}",
        f"backbone {backbone.name}",
        f"corpus {corpus.name} ({rows:,} {_HELD[needs]})" if trains else "no training",
        f"dev {dev.name} ({len(dev):,} pairs"
        + (", a TEST set: its scores prove nothing afterwards)" if dev.is_test else ")"),
        f"{device} {precision}, {preset.cpus_per_trial} CPU"
        + (f" and {cluster.gpus_per_trial:g} GPU" if cluster.gpus_per_trial else "")
        + " a trial",
        *([f"at most {preset.chunk_size} rows at once"] if preset.chunk_size else []),
        *([f"{length}, dev score every {preset.eval_steps}"] if trains else []),
        f"seed {preset.seed}",
    ]
    return Surroundings(cluster, place, " · ".join(parts), preset, setting)


def on_sentences(setting: Setting) -> Setting:
    """``setting`` with the sentences of its documents for a corpus."""
    documents = KeptDocuments.at(Path(setting.corpus.location), setting.corpus.name)
    corpus = keep_sentences(documents, cache=setting.cache)
    source = Source(str(corpus.folder), corpus.fingerprint, corpus.name)
    return replace(setting, corpus=source, rows=len(corpus))


def _preset(choices: SettingChoices, gpus: float, method: str, needs: Needs) -> tuple[Preset, str]:
    """The preset with its parts replaced by those that were chosen, and why this one."""
    name, why = choices.preset, ""
    if name is None:
        name, why = _default_preset(choices, gpus, method, needs)
    parts = {
        key: getattr(choices, key)
        for key in (
            "backbone", "corpus", "dev", "steps", "eval_steps", "seed", "device", "precision",
            "cpus_per_trial", "gpus_per_trial", "chunk_size",
        )
        if getattr(choices, key) is not None
    }  # fmt: skip
    preset = load_preset(name)
    own = preset.method(method).backbone
    parts = ({"backbone": own} if own else {}) | parts
    return (preset.replaced(**parts) if parts else preset), why


def _default_preset(
    choices: SettingChoices, gpus: float, method: str, needs: Needs
) -> tuple[str, str]:
    """``paper`` where it can run, else ``demo``; with the reason, to be said."""
    if not gpus:
        return "demo", " (no GPU here; --preset paper runs the papers' setting all the same)"
    try:
        preset = load_preset("paper")
        _must_hold(preset, choices, method, needs)
        locate(choices.backbone or preset.method(method).backbone or preset.backbone)
        if choices.dev is None:
            read_dev_pairs(preset.dev)
        return "paper", " (there is a GPU)"
    except UserError as error:
        return "demo", f" (paper can't run: {error})"


def _check_selection(dev: ScoredPairs, select: str | None) -> None:
    """A test set that was selected on tests nothing any more, so it takes saying its name."""
    if select is not None and not (dev.is_test and select == dev.name):
        raise UserError(
            f"--select {select}: the pairs selected on are {dev.name}; --select is for allowing a "
            "test set by its name, and --dev says which pairs"
        )
    if dev.is_test and select is None:
        raise UserError(
            f"dev pairs '{dev.name}' are a test set: selecting on it makes it worthless as a test; "
            f"give dev pairs, score it with `embedsearch evaluate`, or say --select {dev.name}"
        )


def _must_hold(preset: Preset, choices: SettingChoices, method: str, needs: Needs) -> None:
    """Raise ``UserError`` where the preset's own corpus is not what ``method`` trains on."""
    wanted = _HELD.get(needs)
    if wanted and preset.holds not in (None, wanted) and choices.corpus is None:
        raise UserError(
            f"{method} trains on {wanted}, and the corpus of preset {preset.name} holds "
            f"{preset.holds}: give --corpus {_GIVE[wanted]}"
        )


def _precision(wanted: str, device: str) -> str:
    return ("bf16" if device == "cuda" else "fp32") if wanted == "auto" else wanted


def _ranks(gpus_each: float) -> int:
    if gpus_each > 1 and not gpus_each.is_integer():
        raise UserError(
            f"--gpus-per-trial {gpus_each:g}: above one it is a whole number, a process on each"
        )
    return max(1, int(gpus_each))


def _nothing(preset: Preset, choices: SettingChoices, place: Place) -> tuple[Source, int]:
    return Source("", "", "none"), 0


def _documents(preset: Preset, choices: SettingChoices, place: Place) -> tuple[Source, int]:
    if choices.column is not None:
        raise UserError(
            f"--column {choices.column}: documents are read by their keys 'title' and 'text', "
            "leave it out"
        )
    documents = open_documents(
        preset.corpus,
        encoding=choices.encoding,
        format=choices.format,  # type: ignore[arg-type]
    )
    kept = keep_documents(documents, cache=place.cache)
    return Source(str(kept.folder), kept.fingerprint, kept.name), len(kept)


def _corpus(preset: Preset, choices: SettingChoices, place: Place) -> tuple[Source, int]:
    corpus = open_corpus(
        preset.corpus,
        cache=place.cache,
        encoding=choices.encoding,
        column=choices.column,
        format=choices.format,  # type: ignore[arg-type]
    )
    return Source(str(corpus.folder), corpus.fingerprint, corpus.name), len(corpus)


_READ = {"nothing": _nothing, "sentences": _corpus, "pairs": _documents}
_HELD = {"sentences": "sentences", "pairs": "documents"}
"""How a corpus is read, and what it holds, by what the method needs."""

_GIVE = {
    "sentences": "with a file of them or hf:NAME",
    "documents": "with a file of them (JSON Lines of title and text, say) or hf:NAME",
}


def _name(location: str) -> str:
    """``nano`` and hub names as they are, folders and files by their own name."""
    path = Path(location).expanduser()
    return path.resolve().name if path.exists() else location


def _dev_file(location: str) -> str:
    """The very file, for every worker to find; a word (``demo``) or hub name as it is."""
    if location in WORDS or location.startswith("hf:"):
        return location
    return str(find_pairs(Path(location).expanduser()).resolve())
