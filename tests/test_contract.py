"""What every method must keep, picked up from the folder: a fifth is tested by being there."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from embedsearch import methods
from embedsearch.data.pair_batches import DOCUMENT, SECOND, SENTENCE, TITLE
from embedsearch.encoder.backbone import describe
from embedsearch.encoder.model import Encoder
from embedsearch.methods.base import Method, MethodConfig, Views, resolve, total
from embedsearch.training.chunks import CachedGradients
from tests.gradients import InOneGraph, deviation, gradients

SPACES = Path(__file__).parents[1] / "search_spaces"
NAMES = sorted(path.stem for path in SPACES.glob("*.yaml"))


def method_class(name: str) -> type[Method]:
    text = (SPACES / f"{name}.yaml").read_text(encoding="utf-8")
    return resolve(yaml.safe_load(text)["method"])


IDLE = ("crossattention.self.query", "crossattention.self.key")
"""Matrices that can't learn: attention over the one embedding is 1 whatever they say."""


@pytest.fixture(params=NAMES)
def found(request: pytest.FixtureRequest) -> type[Method]:
    return method_class(request.param)


@pytest.fixture
def encoder(found: type[Method], make_backbone: Callable[..., Path]) -> Encoder:
    """Of the first architecture that the method can train, with its pooling."""
    architecture = found.architectures[0]
    longer = {"t5": {"n_positions": 128}}.get(architecture, {})
    pooling = found.Config().pooling
    return Encoder.load(str(make_backbone(architecture, **longer)), pooling).train()


def small(found: type[Method]) -> MethodConfig:
    """Its defaults, with a projector that fits a test."""
    sizes = {"batch_size": 6, "projector_dim": 16, "k": 3, "negatives": 3, "projection_dim": 32}
    fields = found.Config.model_fields
    return found.Config(**{name: size for name, size in sizes.items() if name in fields})


def every_term(found: type[Method]) -> MethodConfig:
    """And with a language model where there can be one."""
    config = small(found)
    return config.model_copy(update={"beta": 0.1} if "beta" in type(config).model_fields else {})


PARTS = {"sentences": [""], "pairs": ["", SECOND, DOCUMENT, TITLE]}
"""Before the names of a batch's texts, by what a method needs."""


def batch(found: type[Method], rows: int = 6) -> dict[str, torch.Tensor]:
    made: dict[str, torch.Tensor] = {}
    for seed, prefix in enumerate(PARTS[found.needs], 2):
        ids = torch.randint(300, 500, (rows, 9), generator=torch.Generator().manual_seed(seed))
        mask = torch.ones_like(ids)
        mask[0, 5:] = 0
        made |= {prefix + "input_ids": ids, prefix + "attention_mask": mask}
    if found.needs == "pairs":
        made[SENTENCE], made[SECOND + SENTENCE] = torch.arange(2 * rows).chunk(2)
    return made


def test_each_method_has_one_module_and_one_space() -> None:
    modules = [
        importlib.import_module(f"embedsearch.methods.{m.name}")
        for m in pkgutil.iter_modules(methods.__path__)
    ]
    defined = {
        value: module.__name__.rpartition(".")[2]
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Method)
        and value.__module__ == module.__name__
    }
    assert sorted(defined.values()) == sorted([*NAMES, "base"])
    assert {method_class(name): name for name in NAMES} | {Method: "base"} == defined


def test_every_public_name_is_explained(found: type[Method]) -> None:
    for value in (found, found.Config, *(getattr(found, n) for n in ("views", "terms"))):
        assert inspect.getdoc(value)


def test_defaults_are_valid_and_frozen(found: type[Method], encoder: Encoder) -> None:
    config = found.Config()
    found.check(config, encoder.facts)
    with pytest.raises(ValueError, match="frozen"):
        config.batch_size = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="Extra inputs"):
        found.Config(no_such_value=1)  # type: ignore[call-arg]
    assert found.Config(**config.model_dump(by_alias=True)) == config


def test_longer_than_the_backbone_is_refused(found: type[Method]) -> None:
    facts = describe("nano")
    from embedsearch.errors import UserError

    with pytest.raises(UserError, match="max_length"):
        found.check(found.Config(max_length=facts.max_tokens + 1), facts)


def trained(found: type[Method]) -> type[Method]:
    if found.needs == "nothing" or found.fitted:
        pytest.skip("it trains nothing")
    return found


def test_terms_train_backbone_and_heads(found: type[Method], encoder: Encoder) -> None:
    method = trained(found)(small(found), encoder).train()
    views = method.views(encoder, batch(found))
    assert views[0].shape == (6, 32) and all(len(view) == 6 for view in views)
    terms = method.terms(views, batch(found))
    assert all(term.ndim == 0 and torch.isfinite(term) for term in terms.values())
    total(terms).backward()
    for name, parameter in method.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all()
        learns = parameter.grad.abs().sum() > 0
        assert learns or parameter.ndim < 2 or any(idle in name for idle in IDLE), name
    reached = [p for p in encoder.parameters() if p.grad is not None and p.grad.abs().sum() > 0]
    assert len(reached) > 20


def test_a_row_of_the_views_comes_from_a_row_of_the_batch(
    found: type[Method], encoder: Encoder
) -> None:
    """So that a batch can be computed in chunks, and over devices."""
    method = trained(found)(small(found), encoder).train()
    texts = batch(found)
    changed = {name: values.clone() for name, values in texts.items()}
    for name in changed:
        if name.endswith("input_ids"):
            changed[name][0] += 100

    def views(texts: dict[str, torch.Tensor]) -> Views:
        torch.manual_seed(7)
        return method.views(encoder, texts)

    for before, after in zip(views(texts), views(changed), strict=True):
        assert found.indivisible or torch.allclose(before[1:], after[1:], atol=1e-6)
        assert not torch.equal(before[0], after[0])


@pytest.mark.parametrize("chunk_size", [1, 2, 4])
def test_gradients_in_chunks_are_those_of_the_batch(
    chunk_size: int, found: type[Method], encoder: Encoder
) -> None:
    method = trained(found)(every_term(found), encoder).train()
    parameters = list({id(p): p for p in [*encoder.parameters(), *method.parameters()]}.values())
    chunks = CachedGradients(encoder, method, "fp32", parameters, chunk_size)
    in_chunks = gradients(chunks, batch(found), parameters)
    drawn_on = torch.get_rng_state()
    at_once = InOneGraph(encoder, method, "fp32", chunk_size)
    assert deviation(in_chunks, gradients(at_once, batch(found), parameters)) < 1e-5
    assert torch.equal(drawn_on, torch.get_rng_state())


def test_same_seed_same_terms(found: type[Method], encoder: Encoder) -> None:
    def terms() -> dict[str, torch.Tensor]:
        torch.manual_seed(7)
        method = trained(found)(small(found), encoder).train()
        return method.terms(method.views(encoder, batch(found)), batch(found))

    first, second = terms(), terms()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_groups_hold_every_parameter_once(found: type[Method], encoder: Encoder) -> None:
    method = found(small(found), encoder)
    groups = method.parameter_groups(encoder, 1e-3)
    held = [id(p) for group in groups for p in group.parameters]
    wanted = {id(p) for p in [*encoder.parameters(), *method.parameters()]}
    assert len(held) == len(set(held)) and set(held) == wanted
