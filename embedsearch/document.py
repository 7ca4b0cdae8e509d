"""A YAML file as it was written: every value knows its place, no scalar has a type yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from embedsearch.errors import UserError

_NULL = "tag:yaml.org,2002:null"
_READ_TAGS = frozenset(yaml.SafeLoader.yaml_constructors)


@dataclass(frozen=True)
class Where:
    """The place a value was written at."""

    source: str = "command line"
    line: int | None = None
    key: str = ""
    """Its keys from the top, joined by dots."""

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}"
        return ", ".join(part for part in (self.source, line, self.key) if part)

    def below(self, key: str | int) -> Where:
        """The place of an entry of the value at this one."""
        if isinstance(key, int):
            return replace(self, key=f"{self.key}[{key}]")
        return replace(self, key=f"{self.key}.{key}" if self.key else key)

    def error(self, what: str) -> UserError:
        return UserError(f"{self}: {what}")


COMMAND_LINE = Where()


class Text(str):
    """A scalar as it was written."""

    where: Where

    def __new__(cls, text: str, where: Where | None = None) -> Text:
        self = super().__new__(cls, text)
        self.where = where or COMMAND_LINE
        return self


class Series(list[Any]):
    """A list of ``Text``, ``Series``, ``Table`` and None that knows its place."""

    def __init__(self, items: Iterable[Any], where: Where) -> None:
        super().__init__(items)
        self.where = where


class Table(dict[str, Any]):
    """A mapping to ``Text``, ``Series``, ``Table`` and None that knows the place of each key."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self.where = where
        self.places: dict[str, Where] = {}


def read_yaml(path: str | Path) -> Table:
    """The mapping a YAML file holds, untyped. No tag constructs anything, no key comes twice."""
    top = Where(str(path))
    try:
        node = yaml.compose(Path(path).read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader)
        tree = None if node is None else _located(node, top)
    except OSError as error:
        raise top.error(f"can't be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise top.error("is not UTF-8 text") from error
    except RecursionError as error:
        raise top.error("an alias refers to what holds it, or it nests too deeply") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise replace(top, line=mark.line + 1 if mark else None).error(
            f"is no valid YAML ({error.problem or error.context})"
        ) from error
    except yaml.YAMLError as error:
        raise top.error("is no valid YAML (it holds a character that is none)") from error
    if not isinstance(tree, Table):
        raise top.error("should hold keys and values at its top")
    return tree


def _located(node: yaml.Node, where: Where) -> Text | Series | Table | None:
    where = replace(where, line=node.start_mark.line + 1)
    if node.tag not in _READ_TAGS:
        raise where.error(f"'{node.tag.removeprefix('tag:yaml.org,2002:')}' tags are not read here")
    if isinstance(node, yaml.MappingNode):
        return _table(node, where)
    if isinstance(node, yaml.SequenceNode):
        items = (_located(item, where.below(index)) for index, item in enumerate(node.value))
        return Series(items, where)
    return None if node.tag == _NULL else Text(node.value, where)


def _table(node: yaml.MappingNode, where: Where) -> Table:
    table = Table(where)
    for key_node, value_node in node.value:
        key = _located(key_node, where)
        if not isinstance(key, Text):
            raise where.error("a key should be a word")
        place = replace(where.below(str(key)), line=key.where.line)
        if key in table:
            first = table.places[key].line
            raise place.error(f"is there twice, first in line {first}; keep one of them")
        table.places[str(key)] = place
        table[str(key)] = _located(value_node, place)
    return table
