import torch

from vlasov.engines import Visibility
from vlasov.engines.causal import in_causal_order
from vlasov.engines.pairs import Pairs


def calls(queries: list[float], keys: list[float]) -> tuple[list[bool], list[float]]:
    """How often the kernel is asked, and the number of keys that each query sees."""
    asked: list[bool] = []

    def count(pairs: Pairs, triangular: bool) -> torch.Tensor:
        asked.append(triangular)
        seen = pairs.logits.exp()
        total = seen.cumsum(-1) if triangular else seen.sum(-1, keepdim=True)
        return total.expand(pairs.q.shape[:-1])[..., None]

    q, k = torch.ones(1, len(queries), 1), torch.ones(1, len(keys), 1)
    mask = Visibility(
        *(torch.tensor([p], dtype=torch.float32) for p in (queries, keys)), causal=True
    )
    pairs = Pairs(q, k, k, torch.zeros(1, len(keys)), mask)
    return asked, in_causal_order(count, pairs, mask, unseen=-1.0).flatten().tolist()


def test_increasing_positions_take_one_triangular_call() -> None:
    assert calls([0, 1, 2], [0, 1, 2]) == ([True], [1, 2, 3])


def test_shuffled_positions_are_sorted_and_put_back() -> None:
    assert calls([2, 0, 1], [2, 0, 1]) == ([True], [3, 1, 2])


def test_ties_see_each_other_in_one_call_for_each_position() -> None:
    assert calls([1, 0, 1], [1, 0, 1]) == ([False, False], [3, 1, 3])


def test_a_query_before_every_key_sees_nothing() -> None:
    assert calls([0, 5], [1, 2]) == ([False, False], [-1, 2])


def test_one_tie_among_many_positions_takes_two_calls() -> None:
    positions = [0.0, 0.0, *range(2, 100)]
    asked, seen = calls(positions, positions)
    assert asked == [True, False]
    assert seen == [2, 2, *range(3, 101)]


def test_positions_between_those_of_the_keys_take_one_triangular_call() -> None:
    asked, seen = calls([i + 0.5 for i in range(50)], list(range(50)))
    assert asked == [True]
    assert seen == list(range(1, 51))


def test_many_queries_for_few_keys_take_a_call_for_each_key() -> None:
    asked, seen = calls([i / 40 for i in range(800)], list(range(20)))
    assert asked == [False] * 20
    assert seen == [i // 40 + 1 for i in range(800)]
