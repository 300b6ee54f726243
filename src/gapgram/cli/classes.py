"""gapgram classes: word classes found in text."""

from __future__ import annotations

import click

from gapgram.cli.options import option, print_json, shared, talk


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@option("-o", "--output", required=True, metavar="CLASSES", help="File to write: word, class, count.")
@option("-k", type=int, metavar="N", help="Number of classes at most.  [default: by the size of the text]")
@option("--min-count", default=1, metavar="N", help="Leave out words that occur less often.")
@option("--vocab-limit", type=int, metavar="N", help="Find classes for the N most frequent words only.")
@shared("training special", "invalid", "threads", "json", "quiet")
def command(
    texts: tuple[str, ...], output: str, k: int | None, min_count: int, vocab_limit: int | None, special: str,
    invalid: str, threads: int | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Find classes of words that have the same neighbours in text, one sentence a line.

    The file is plain text, a line a word: the word, the number of its class and how often the word occurs, with tabs
    between them; class by class, the most frequent first. It may be edited: move words by changing their class, give
    classes any names.
    """
    import time

    from gapgram.classes.classes import write_classes
    from gapgram.classes.exchange import find_classes
    from gapgram.system.atomic_file import check_writable
    from gapgram.text.corpus import TextRules, read_corpus
    from gapgram.text.files import blocks_of_files

    began = time.perf_counter()
    check_writable(output, texts)
    blocks = blocks_of_files(list(texts), progress=not quiet)
    rules = TextRules(special=special, invalid=invalid, min_count=min_count, vocab_limit=vocab_limit)
    corpus = read_corpus(blocks, rules)
    classes = find_classes(corpus.ids, len(corpus.vocabulary), k, threads=threads, progress=not quiet)
    write_classes(output, classes, corpus.vocabulary, corpus.word_counts)
    seconds = time.perf_counter() - began
    if as_json:
        print_json({
            "classes": classes.k, "vocabulary": len(corpus.vocabulary), "words": corpus.facts.words,
            "sentences": corpus.facts.sentences, "largest": int(classes.sizes.max()), "corpus": corpus.facts.digest,
            "rule": corpus.facts.rule, "seconds": round(seconds, 3),
        })  # fmt: skip
        return
    talk(
        f"{classes.k:,} classes of {len(corpus.vocabulary):,} words, found in {corpus.facts.words:,} words of text "
        f"in {seconds:.1f} s",
        quiet,
    )
