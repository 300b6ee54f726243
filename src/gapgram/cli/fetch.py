"""gapgram fetch: public corpora by name."""

from __future__ import annotations

import click

from gapgram.cli.options import option, print_json, shared, talk


@click.command()
@click.argument("name", metavar="NAME")
@option("-o", "--output", metavar="FILE", help="File to write.  [default: named as at its source]")
@option("--host", metavar="ADDRESS", help="Mirror to fetch from, such as https://mirror.example.")
@option("--sha256", metavar="DIGEST", help="Digest that the file must have.")
@shared("json", "quiet")
def command(name: str, output: str | None, host: str | None, sha256: str | None, as_json: bool, quiet: bool) -> None:
    """Fetch a public corpus: wikipedia-LANGUAGE, acquis-LANGUAGE or billion.

    The file is kept as it comes; a message says which command turns it into text. Wikipedia's dumps and JRC-Acquis
    exist in many languages: wikipedia-de, acquis-fr.
    """
    from gapgram.preparation.fetching import fetch

    fetched = fetch(name, output, host=host, sha256=sha256, progress=not quiet)
    if as_json:
        print_json({
            "path": str(fetched.path), "address": fetched.address, "bytes": fetched.n_bytes, "sha256": fetched.sha256,
            "licence": fetched.licence,
        })  # fmt: skip
        return
    print(f"{fetched.path}: {fetched.n_bytes:,} bytes, SHA-256 {fetched.sha256}")
    talk(f"licence: {fetched.licence}; next: {fetched.next_step}", quiet)
