"""Signals: noted, chained, put back."""

import os
import signal
import threading

import pytest

from vlasov.interruption import catch_signals


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_g14_a_signal_is_noted_and_the_handler_put_back(number: int, status: int) -> None:
    outer = signal.signal(number, signal.default_int_handler)  # a shell may have it ignored
    try:
        with catch_signals() as caught:
            assert not caught.requested
            assert caught.exit_status == 0
            os.kill(os.getpid(), number)
            assert caught.requested
            assert caught.exit_status == status
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, outer)


def test_g14_a_handler_of_the_users_own_is_called_too() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with catch_signals() as caught:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM] * 2
        assert caught.requested
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_second_interrupt_is_not_caught() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with catch_signals() as caught:
            os.kill(os.getpid(), signal.SIGINT)
            assert caught.requested
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with catch_signals() as caught:
            os.kill(os.getpid(), signal.SIGTERM)
        assert not caught.requested
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_catch_nothing() -> None:
    found: list[bool] = []

    def work() -> None:
        with catch_signals() as caught:
            found.append(caught.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]
