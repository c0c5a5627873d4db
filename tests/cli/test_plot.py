"""Pictures drawn by the commands."""

from pathlib import Path

import pytest

from cli import figures

TINY = ("--n", "5", "--time", "0.2", "--step", "0.1", "--observe", "diameter")


def test_a_run_is_drawn_and_drawn_again(call) -> None:
    result = call("simulate", *TINY, "--out", "run")
    assert result.exit_code == 0, result.stderr
    pictures = [Path("run/summary.png"), Path("run/animation.gif")]
    for picture in pictures:
        assert str(picture) in result.output
        picture.unlink()
    again = call("plot", "run")
    assert again.exit_code == 0, again.stderr
    assert again.stdout.split() == [str(picture) for picture in pictures]
    assert all(picture.exists() for picture in pictures)


def test_a_page_is_written_on_request(call) -> None:
    pytest.importorskip("plotly", reason="needs the extra 'html'")
    result = call("simulate", *TINY, "--movie", "none", "--html", "--out", "run")
    assert result.exit_code == 0, result.stderr
    assert Path("run/page.html").exists()
    assert not Path("run/animation.gif").exists()


def test_i07_a_missing_writer_is_refused_before_the_run(
    call, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vlasov.errors import MissingExtra

    def missing(path: str) -> None:
        raise MissingExtra("An mp4 needs imageio-ffmpeg. Run `pip install 'vlasov[movie]'`.")

    monkeypatch.setattr(figures, "check_writer", missing)
    result = call("simulate", *TINY, "--movie", "mp4", "--out", "run")
    assert result.exit_code == 2
    assert "vlasov[movie]" in result.stderr
    assert not list(Path().iterdir())


def test_plotting_quietly_nothing(call) -> None:
    assert call("simulate", *TINY, "--no-figures", "--out", "run").exit_code == 0
    result = call("plot", "run", "--quiet", "--movie", "none")
    assert (result.exit_code, result.output) == (0, "")


@pytest.mark.parametrize(
    ("words", "phrase"),
    [("gone", "'gone' is not a folder"), ("", "Missing argument 'RUN'"), ("a b", "unexpected")],
)
def test_a_wrong_call_is_one_sentence(call, words: str, phrase: str) -> None:
    result = call("plot", *words.split())
    assert result.exit_code == 2
    assert phrase in result.stderr
    assert len(result.stderr.splitlines()) == 1
