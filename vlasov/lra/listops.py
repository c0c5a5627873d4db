"""ListOps: the value of a nested list of operators and digits, ten classes."""

__all__ = ["ListOps"]

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

from vlasov.errors import InvalidValue
from vlasov.lra.examples import Examples, stacked_bytes
from vlasov.lra.folders import find_folder
from vlasov.lra.listops_files import FILES, ReadLists, read_lists, write_lists
from vlasov.lra.listops_grammar import Drawn, Grammar
from vlasov.lra.listops_values import floors, value
from vlasov.lra.listops_words import WORDS
from vlasov.lra.release import RELEASE_SIZES
from vlasov.lra.splits import Splits
from vlasov.lra.task import Task

_TRAIN, _REST, _ = RELEASE_SIZES["listops"]
_CHECKED = 2_000  # lists of a part whose value is computed again


@dataclass(frozen=True)
class ListOps(Task):
    """Nested lists, generated or read.

    Args:
        shortest: generated lists have more tokens than this.
        longest: and fewer than this.
        cut: the share of cut lists in a file above which it is refused: a cut list has lost its
            closing brackets.
    """

    name: ClassVar[str] = "listops"
    title: ClassVar[str] = "The value of a nested list of MIN, MAX, MED and sums modulo 10."
    classes: ClassVar[int] = 10
    vocabulary: ClassVar[int] = len(WORDS) + 1
    length: ClassVar[int] = 2000
    source: ClassVar[str] = "its generator, or 'listops-1000' of the Long Range Arena release"

    shortest: int = 500
    longest: int = 2000
    cut: float = 0.05

    def __post_init__(self) -> None:
        Grammar(self.shortest, self.longest)  # which refuses bounds that no list fits
        if not 0 <= self.cut <= 1:
            raise InvalidValue(f"'cut' is a share in [0, 1] but is {self.cut}. Correct it.")

    def load(self, folder: Path, *, length: int, seed: int) -> Splits:
        """The lists in the three files of the release."""
        place = find_folder(folder, FILES, task=self.name)
        found = {name: read_lists(place / name, length=length) for name in FILES}
        notes = tuple(self._note(place / name, read, length) for name, read in found.items())
        train, validation, test = (
            stacked_bytes(read.lists, read.labels, shift=0) for read in found.values()
        )
        return self.splits(train, validation, test, tuple(filter(None, notes)))

    def _note(self, path: Path, read: ReadLists, length: int) -> str:
        """How many lists were cut; more than a share is refused."""
        total = len(read.lists)
        if read.cut > self.cut * total:
            raise InvalidValue(
                f"At most {self.cut:.0%} of the lists may be longer than {length} tokens but "
                f"{read.cut} of {total} in '{path}' are. Raise the length, generate shorter "
                "lists, or accept a larger share with 'listops:cut=SHARE'."
            )
        return f"{path.name}: {read.cut} of {total} lists cut at {length} tokens" * (read.cut > 0)

    def generate(self, *, length: int, limit: int | None, seed: int) -> Splits:
        """Lists drawn on the spot, none in two parts; the same for the same seed.

        The bounds are those of the task where they fit the length, a quarter of the length and
        the length elsewhere.
        """
        count, rest = _counts(_TRAIN if limit is None else limit)
        shortest = self.shortest if self.shortest < length - 1 else length // 4
        grammar = Grammar(shortest, min(self.longest, length + 1))
        lists = grammar.lists(seed)
        train, validation, test = (_examples(lists, number) for number in (count, rest, rest))
        note = (
            f"lists generated with seed {seed}, of more than {grammar.shortest} and fewer than "
            f"{grammar.longest} tokens"
        )
        return self.splits(train, validation, test, (note,))

    def floors(self, train: Examples, test: Examples) -> dict[str, float]:
        """The majority, the root operator, and one level."""
        return Task.floors(self, train, test) | floors(train, test)

    def contradictions(self, splits: Splits) -> Iterable[str]:
        """Lists whose label is not their value, by an evaluator apart from the generator's."""
        for name, part in splits.parts().items():
            rows = range(min(len(part), _CHECKED))
            wrong = [row for row in rows if not _is_value(part, row)]
            if wrong:
                yield (
                    f"wrong: {len(wrong)} of {len(rows)} {name} lists have another value than "
                    f"their label, or do not close; the first is number {wrong[0] + 1}"
                )

    def make(
        self,
        folder: Path,
        *,
        count: int,
        seed: int,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        """The three files of the release, with lists of our own."""
        train, rest = _counts(count)
        lists = _watched(Grammar(self.shortest, self.longest).lists(seed), watch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, number in zip(FILES, (train, rest, rest), strict=True):
            write_lists(folder / name, islice(lists, number))


def _is_value(part: Examples, row: int) -> bool:
    return value(bytes(part.sequence(row).tolist())) == int(part.labels[row])


def _counts(train: int) -> tuple[int, int]:
    """The sizes of train and of each other part."""
    if train < 1:
        raise InvalidValue(f"Making lists needs a count of at least 1 but got {train}. Raise it.")
    return train, min(_REST, max(1, train // 4))


def _examples(lists: Iterator[Drawn], count: int) -> Examples:
    drawn = list(islice(lists, count))
    return stacked_bytes([one.tokens for one in drawn], [one.value for one in drawn], shift=0)


def _watched(lists: Iterator[Drawn], watch: Callable[[int], None] | None) -> Iterator[Drawn]:
    for number, drawn in enumerate(lists, 1):
        if watch is not None:
            watch(number)
        yield drawn
