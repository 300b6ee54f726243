"""Small dumps and documents for the tests."""

from __future__ import annotations

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="4" case="first-letter">Project</namespace>
      <namespace key="6" case="first-letter">Datei</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


def page(title: str, text: str, *, ns: str = "<ns>0</ns>", more: str = "") -> str:
    return (
        f"  <page>\n    <title>{title}</title>\n    {ns}\n    <id>1</id>{more}\n    <revision>\n"
        f"      <model>wikitext</model>\n      <text>{text}</text>\n    </revision>\n  </page>\n"
    )


def dump(*pages: str) -> str:
    return HEAD + "".join(pages) + TAIL


def document(*paragraphs: str, number: int = 1) -> str:
    inside = "\n".join(f'<p n="{n}">{p}</p>' for n, p in enumerate(paragraphs, 2))
    return (
        f'<TEI.2 id="jrc{number}-en" n="{number}" lang="en">\n<teiHeader lang="en"><fileDesc><titleStmt>'
        "<title>JRC-ACQUIS English</title></titleStmt><p>Not text.</p></fileDesc></teiHeader>\n"
        f'<text>\n<body>\n<head n="1">Decision {number}</head>\n<div type="body">\n{inside}\n</div>\n'
        '<div type="signature"><p n="99">Done at Brussels.</p></div>\n</body>\n</text>\n</TEI.2>\n'
    )
