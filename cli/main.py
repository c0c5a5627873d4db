"""The command `vlasov`: its sub-commands, loaded when called."""

__all__ = ["cli", "main"]

import difflib
import importlib
from importlib import metadata

import click

COMMANDS = {
    "ablate": "Show what residual connections and norms do, layer by layer.",
    "bench": "Time one softmax sum by every engine, and say which one 'auto' takes.",
    "converge": "Measure how fast n tokens approach the mean-field limit.",
    "data": "Make, check or describe the data of a task.",
    "diffuse": "Take one diffusion step along positions apart: spectrum, stability, response, "
    "energy, kernel.",
    "distance": "Measure how far apart two laws are, and say how that is known.",
    "energy": "Follow the energy that an equation descends, and test its convexity.",
    "phase": "Colour a diagram of parameters, or of random draws, by how covariances end.",
    "plot": "Draw the pictures of a run folder again.",
    "reduce": "Carry a Gaussian law by the equation: mean, covariance, and how the run ends.",
    "simulate": "Move a token cloud by attention; save and draw what happens.",
    "train": "Train Transformers with and without diffusion on tasks of the Long Range Arena.",
}


class Refusal(click.ClickException):
    """One sentence on the error stream and exit status 2."""

    exit_code = 2


class Commands(click.Group):
    """Sub-commands by module name: help and version need no torch."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of the module of that name."""
        if cmd_name not in COMMANDS:
            close = difflib.get_close_matches(cmd_name, COMMANDS, n=1, cutoff=0.4)
            hint = f": did you mean '{close[0]}'?" if close else "."
            raise Refusal(
                f"Unknown command '{cmd_name}'{hint} Known: {', '.join(sorted(COMMANDS))}."
            )
        return importlib.import_module(f".{cmd_name}", __package__).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; what it refuses becomes one sentence."""
        from vlasov.errors import VlasovError  # loads torch

        try:
            return super().invoke(ctx)
        except VlasovError as error:
            raise Refusal(str(error)) from None
        except click.UsageError as error:
            raise Refusal(error.format_message()) from None


def _version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"vlasov {_installed_version()}")
        ctx.exit()


def _installed_version() -> str:
    try:
        return metadata.version("vlasov")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        import vlasov

        return vlasov.__version__


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and exit.",
)  # fmt: skip
def cli() -> None:
    """Token clouds moved by attention.

    Exit status: 0 done, 2 refused, 130 after Ctrl-C and 143 after SIGTERM (the run is saved).
    """


def main() -> None:
    """Run the command line; wildcards are left to the shell."""
    cli(prog_name="vlasov", windows_expand_args=False)
