"""The commands by group, with a summary each, in the order in which a newcomer meets them.

`gapgram --help` is printed from this table: it loads no command.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

import click

from gapgram.signature import __version__

GROUPS = {
    "Begin": {
        "demo": "Compare two models on Python's language reference",
        "train": "Train a model on text, one sentence a line",
        "perplexity": "Print how well a model predicts text",
        "compare": "Compare Kneser-Ney with generalized models on text",
    },
    "Ask a model": {
        "score": "Print the probability of each line or word",
        "predict": "Print the most probable next words",
        "explain": "Show where a probability comes from",
        "generate": "Draw sentences from a model",
        "serve": "Open a page and a JSON API on this machine",
    },
    "Use models": {
        "surprisal": "Print what each word costs a reader, in bits",
        "filter": "Keep, split or mark records by their perplexity",
        "classify": "Tell languages, authors or topics apart",
        "correct": "Correct spelling in context",
        "rescore": "Rank n-best lists of a recogniser anew",
    },
    "Look at and change models": {
        "info": "Show what is in a model file",
        "about": "Show or set what a model file says of itself",
        "card": "Write a model card in Markdown",
        "verify": "Check a model file for damage",
        "convert": "Write a model in another layout or format",
        "arpa": "Write a model as an ARPA file",
        "prune": "Make a model smaller",
        "mix": "Mix several models into one",
    },
    "This machine": {
        "warmup": "Compile all kernels now, so that no command has to",
    },
    "Prepare text": {
        "fetch": "Fetch a public corpus by name",
        "prepare": "Turn dumps and documents into sentences",
        "split": "Split text into training, validation and test text",
        "sample": "Draw word sequences from text",
        "classes": "Find word classes in text",
    },
    "Experiments": {
        "study": "Run the paper's experiments on any corpora",
    },
}
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}


class LazyGroup(click.Group):
    """A group whose commands are the modules of this package, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of their groups."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"gapgram.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the groups, each with its commands."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; a name that is none is answered with the nearest ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            nearest = get_close_matches(name, COMMANDS, n=3, cutoff=0.6)
            meant = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
            raise click.UsageError(f"no such command {name!r}{meant}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="gapgram")
@click.pass_context
def group(ctx: click.Context) -> None:
    """Train and use n-gram language models that may skip words.

    \b
        gapgram train TEXT -o MODEL
        gapgram perplexity MODEL OTHER_TEXT

    TEXT holds one sentence a line, its words separated by spaces. gapgram COMMAND --help explains a command.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
