"""The command itself: help, version, unknown words."""

import subprocess
import sys
from pathlib import Path

import pytest

import vlasov
from cli import main as module
from cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]


def test_help_lists_the_commands(call) -> None:
    result = call("--help")
    assert result.exit_code == 0
    assert all(name in result.output for name in COMMANDS)


def test_every_command_has_the_help_of_its_list(call) -> None:
    for name, short in COMMANDS.items():
        result = call(name, "--help")
        assert result.exit_code == 0
        assert short.split(";")[0].rstrip(".") in " ".join(result.output.split())


def test_version(call, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise module.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.metadata, "version", missing)
    assert call("--version").output == f"vlasov {vlasov.__version__}\n"
    monkeypatch.setattr(module.metadata, "version", lambda name: "9.9")
    assert call("--version").output == "vlasov 9.9\n"


def test_an_unknown_command_gets_the_nearest(call) -> None:
    result = call("simulat")
    assert result.exit_code == 2
    assert "Unknown command 'simulat': did you mean 'simulate'?" in result.stderr
    assert f"Known: {', '.join(sorted(COMMANDS))}." in call("zzz").stderr


def test_i02_wildcards_are_left_to_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr(cli, "main", lambda **options: seen.update(options))
    module.main()
    assert seen["windows_expand_args"] is False


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=" ".join)
def test_help_and_version_load_no_torch(words: list[str]) -> None:
    code = (
        "import sys; from cli.main import cli; "
        f"cli({words!r}, standalone_mode=False); assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or "PackageNotFoundError" in done.stderr, done.stderr


def test_the_checkout_runs_as_a_module(process) -> None:
    out, err = process("--help").communicate(timeout=60)
    assert "simulate" in out, err
