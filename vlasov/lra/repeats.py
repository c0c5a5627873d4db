"""Examples that occur twice: in one part, or in two that should share none."""

__all__ = ["repeated", "repeats_note", "shared"]

import hashlib
from collections.abc import Iterator

from vlasov.lra.examples import Examples


def repeated(examples: Examples) -> int:
    """The examples whose tokens occurred before."""
    return len(examples) - len(set(_keys(examples)))


def shared(train: Examples, test: Examples) -> int:
    """The test examples whose tokens occur in train, too."""
    known = set(_keys(train))
    return sum(key in known for key in _keys(test))


def repeats_note(train: Examples, validation: Examples, test: Examples) -> tuple[str, ...]:
    """A note for each of the other parts that repeats train, compared as they were cut."""
    parts = {"validation": validation, "test": test}
    found = {name: (shared(train, part), len(part)) for name, part in parts.items()}
    return tuple(
        f"{count} of {total} {name} examples occur in train, too"
        for name, (count, total) in found.items()
        if count
    )


def _keys(examples: Examples) -> Iterator[bytes]:
    """A short name of the tokens of each example; lengths tell towers apart."""
    stored = examples.tokens.numpy()
    ends = examples.offsets[:: examples.towers].tolist()
    for begin, end, lengths in zip(ends, ends[1:], examples.lengths.tolist(), strict=False):
        name = hashlib.blake2b(stored[begin:end].tobytes(), digest_size=16)
        name.update(str(lengths).encode())
        yield name.digest()
