"""Notebooks: run anew with their output stored, and as pages of the site.

    python -m docs.site.notebooks      # runs all of them and stores their output
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "guide" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run(path: Path) -> Any:
    """The notebook with fresh output, run in its own folder; an error in a cell is raised."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # when it was run
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]  # bars
    return notebook


def as_markdown(path: Path, pictures: Path) -> str:
    """A notebook as a page; its pictures are written into a folder beside it."""
    import nbformat

    pictures.mkdir(parents=True, exist_ok=True)
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source.replace(".ipynb)", ".md)"))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for number, output in enumerate(cell.outputs):
            parts += _shown(output, pictures / f"{path.stem}-{cell.id}-{number}")
    return "\n\n".join(parts) + "\n"


def _shown(output: Any, picture: Path) -> Iterator[str]:
    """What a reader sees of an output: its picture, its table, or its text."""
    data = output.get("data", {})
    if "text/html" in data:  # as Jupyter does where there are several
        yield f'<div markdown="0">{data["text/html"]}</div>'
    elif "image/svg+xml" in data:
        picture = picture.with_suffix(".svg")
        picture.write_text(data["image/svg+xml"], encoding="utf-8")
        yield f"![A picture that the code above draws]({picture.parent.name}/{picture.name})"
    elif "image/png" in data:
        picture = picture.with_suffix(".png")
        picture.write_bytes(base64.b64decode(data["image/png"]))
        yield f"![A picture that the code above draws]({picture.parent.name}/{picture.name})"
    else:
        text = output.get("text", data.get("text/plain", ""))
        yield f"```text\n{text.rstrip()}\n```"


if __name__ == "__main__":
    import nbformat

    for each in NOTEBOOKS:
        nbformat.write(run(each), each)
