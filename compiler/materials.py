"""What a release is made of: a bill of materials (CycloneDX), the licences of all that it needs, sums of its files.

    python -m compiler.materials FOLDER        # that holds the wheels; `make release` calls it

Versions and licences are those of this environment, which `requirements.lock` pins for a release.
"""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BUILD = ("numba", "llvmlite", "hatchling", "ziglang")  # nothing of theirs is imported where gapgram runs
NEVER = {"test", "docs"}  # extras of those who change gapgram


def needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[tuple[Requirement, bool]]:
    """What a package needs here, and whether only with an extra of its own."""
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        environment: dict[str, Any] = {**default_environment(), "extra": ""}
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield requirement, False
        elif any(requirement.marker.evaluate({**environment, "extra": extra}) for extra in extras):
            yield requirement, True


def walked() -> tuple[dict[str, str], dict[str, list[str]]]:
    """Of each package that is installed and that gapgram or its build needs the scope; and what each needs itself."""
    scopes, edges, extras = dict[str, str](), dict[str, list[str]](), distribution("gapgram").metadata.get_all
    own = frozenset(extras("Provides-Extra") or ()) - NEVER
    waiting: list[tuple[str, str, frozenset[str]]] = [(name, "excluded", frozenset()) for name in BUILD]
    waiting.append(("gapgram", "required", own))  # looked at first
    order = {"required": 0, "optional": 1, "excluded": 2}
    while waiting:
        name, scope, wanted = waiting.pop()
        name = canonicalize_name(name)
        if name in scopes and order[scopes[name]] <= order[scope]:
            continue
        try:
            found = list(needed(name, wanted))
        except PackageNotFoundError:
            continue
        scopes[name], edges[name] = scope, sorted({canonicalize_name(each.name) for each, _ in found})
        for requirement, is_extra in found:
            lower = "optional" if is_extra and scope == "required" else scope
            waiting.append((requirement.name, lower, frozenset(requirement.extras)))
    return scopes, edges


def licence_of(found: Distribution) -> str:
    """What a package says of its licence."""
    about: Any = found.metadata
    for name in ("License-Expression", "License"):
        text = (about.get(name) or "").strip()
        if text and "\n" not in text and len(text) < 80:
            return text
    classifiers = [each for each in about.get_all("Classifier") or () if each.startswith("License ::")]
    return "; ".join(each.rpartition(" :: ")[2] for each in classifiers) or "not said: see its files"


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that is released."""
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def bill(folder: Path) -> dict[str, Any]:
    """The bill of materials."""
    scopes, edges = walked()

    def component(name: str) -> dict[str, Any]:
        found = distribution(name)
        place = f"pkg:pypi/{name}@{found.version}"
        licence = [{"license": {"name": licence_of(found)}}]
        return {"type": "library", "bom-ref": place, "name": name, "version": found.version, "purl": place,
                "licenses": licence}  # fmt: skip

    made = {name: component(name) for name in scopes}
    files = [
        {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]}
        for name, digest in sums(folder).items()
    ]
    own = made.pop("gapgram")
    lines = {name: {**made[name], "scope": scopes[name]} for name in sorted(made)}
    references = {name: each["bom-ref"] for name, each in {**lines, "gapgram": own}.items()}
    needs = [
        {"ref": references[name], "dependsOn": [references[each] for each in edges[name] if each in references]}
        for name in sorted(references)
    ]
    content = json.dumps([own, *lines.values(), files], sort_keys=True)
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "metadata": {
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "component": {**own, "type": "application"},
        },
        "components": [*lines.values(), *files], "dependencies": needs,
    }  # fmt: skip


def main(folder: Path) -> None:
    """Write the three files beside the wheels."""
    made = bill(folder)
    (folder / "gapgram.cdx.json").write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    lines = [
        f"{each['name']} {each['version']}  {each['scope']}  {each['licenses'][0]['license']['name']}\n"
        for each in made["components"] if each["type"] == "library"
    ]  # fmt: skip
    head = "gapgram: MIT. What it needs (required), may use (optional), is built with (excluded):\n\n"
    (folder / "licences.txt").write_text(head + "".join(lines), "utf-8")
    text = "".join(f"{digest}  {name}\n" for name, digest in sums(folder).items())
    (folder / "SHA256SUMS").write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
