"""Help: every command listed with a whole summary, every option explained from a verb or a noun on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.support.running import Cli

import gapgram.cli
from gapgram.cli.commands import COMMANDS, GROUPS
from gapgram.cli.main import group

NO_VERB_AND_NO_NOUN = {
    "A", "Also", "An", "Below", "By", "Each", "For", "How", "In", "Instead", "It", "No", "Of", "Only", "Rarer", "Such",
    "The", "These", "This", "What", "Where", "Which", "With",
}  # fmt: skip


def commands(command: click.Command = group, path: str = "gapgram") -> Iterator[tuple[str, click.Command]]:
    """All commands, and those below them, by what is typed."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


def test_every_command_is_listed_in_a_group_with_its_whole_summary(cli: Cli) -> None:
    listed = cli("--help").out
    assert "..." not in listed.split("Options:")[1]
    for title, summaries in GROUPS.items():
        assert f"\n{title}:\n" in listed
        for name, summary in summaries.items():
            assert f"  {name.ljust(max(map(len, COMMANDS)))}  {summary}\n" in listed
            assert len(summary) <= 55
            assert not summary.endswith(".")


def test_every_module_of_a_command_is_listed() -> None:
    folder = Path(gapgram.cli.__file__).parent
    modules = {p.stem for p in folder.glob("*.py") if "def command(" in p.read_text("utf-8")}
    assert modules == set(COMMANDS)


@pytest.mark.parametrize(("path", "command"), list(commands()))
def test_words_of_help(path: str, command: click.Command) -> None:
    assert command.help
    assert command.help.split()[0] not in NO_VERB_AND_NO_NOUN
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{path} {option.opts[0]}"
            assert option.help[0].isupper(), option.help
            assert option.help.split()[0] not in NO_VERB_AND_NO_NOUN, f"{path} {option.opts[0]}: {option.help}"
            assert option.help.rstrip("]").endswith((".", "…")) or option.help.endswith("]"), option.help
