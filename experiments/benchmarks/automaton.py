"""A suffix automaton in pure Python, and the heaviest whole units that it finds in a text."""

from __future__ import annotations


class Automaton:
    """All substrings of ``text`` (Blumer et al., 1985)."""

    def __init__(self, text: str) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.link = [-1]
        self.length = [0]
        last = 0
        for character in text:
            last = self._extend(last, character)

    def _extend(self, last: int, character: str) -> int:
        following, link, length = self.next, self.link, self.length
        state = len(following)
        following.append({})
        link.append(0)
        length.append(length[last] + 1)
        at = last
        while at >= 0 and character not in following[at]:
            following[at][character] = state
            at = link[at]
        if at < 0:
            return state
        target = following[at][character]
        if length[target] == length[at] + 1:
            link[state] = target
            return state
        clone = len(following)
        following.append(following[target].copy())
        link.append(link[target])
        length.append(length[at] + 1)
        while at >= 0 and following[at].get(character) == target:
            following[at][character] = clone
            at = link[at]
        link[target] = link[state] = clone
        return state

    def heaviest(self, text: str, weights: list[int]) -> int:
        """The weight of the heaviest run of whole units of ``text`` that the automaton knows.

        Units stand between single spaces, one at both ends; ``weights`` has what the text weighs
        up to each of its spaces, in order.
        """
        following, link, length = self.next, self.link, self.length
        state = matched = heaviest = 0
        spaces: list[int] = []
        first = 0
        for place, character in enumerate(text):
            while state and character not in following[state]:
                state = link[state]
                matched = length[state]
            if character in following[state]:
                state = following[state][character]
                matched += 1
            if character == " ":
                spaces.append(place)
                begin = place - matched + 1
                while spaces[first] < begin:
                    first += 1
                heaviest = max(heaviest, weights[len(spaces) - 1] - weights[first])
        return heaviest
