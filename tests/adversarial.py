"""Clouds that try to break a certified sum, and the sum itself in extended precision."""

__all__ = ["draw", "exact", "exponent"]

import numpy as np

KINDS = ("ball", "clumps", "line", "lattice", "outlier", "coinciding", "two scales", "sphere")


def _cloud(kind, n, d, rng):
    x = rng.standard_normal((n, d))
    if kind == "clumps":
        x = 1e-3 * x + rng.standard_normal((5, d))[rng.integers(0, 5, n)]
    elif kind == "line":
        x = x[:, :1] * rng.standard_normal((1, d))
    elif kind == "lattice":
        x = np.round(3 * x) / 3
    elif kind == "outlier":
        x[rng.integers(n)] *= 30
    elif kind == "coinciding":
        x = x[rng.integers(0, min(3, n), n)]
    elif kind == "two scales":
        x[: n // 2] *= 1e-6
    elif kind == "sphere":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x


def draw(rng, *, largest=700, causal=False):
    """Queries, keys, values and logits, and a tolerance; as many queries as keys if causal."""
    d = int(rng.choice([1, 2, 3, 5], p=[0.3, 0.3, 0.3, 0.1]))
    n, m = (int(i) for i in rng.integers(1, largest, 2))
    m = n if causal else m
    kinds = [KINDS[i] for i in rng.integers(0, len(KINDS), 2)]
    q, k = _cloud(kinds[0], n, d, rng), _cloud(kinds[1], m, d, rng)
    if rng.random() < 0.3 and n == m:
        q = k.copy()
    q *= 10 ** rng.uniform(-3, 2) / max(np.linalg.norm(q, axis=1).max(), 1e-300)
    v = rng.standard_normal((m, int(rng.integers(1, 4)))) * 10 ** rng.uniform(-3, 3)
    logits = rng.standard_normal(m) * rng.choice([0.0, 1.0, 100.0])
    if rng.random() < 0.1:  # weights of 1e-300 to 1
        logits = rng.uniform(-300, 0, m) * np.log(10)
    return (q, k, v, logits), 10.0 ** rng.integers(-11, -1)


def exact(q, k, v, logits, rows, *, causal=False):
    """Averages and log-sums of some rows in extended precision."""
    q, k, v, logits = (x.astype(np.longdouble) for x in (q, k, v, logits))
    scores = q[rows] @ k.T + logits
    if causal:
        scores[np.arange(len(k))[None] > rows[:, None]] = -np.inf
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights @ v / total, (np.log(total) + top)[:, 0]


def exponent(q, k, logits):
    """A bound of the largest exponent, to the base 2."""
    longest = [np.linalg.norm(x, axis=1).max() for x in (q, k)]
    return (longest[0] * longest[1] + np.ptp(logits)) / np.log(2)
