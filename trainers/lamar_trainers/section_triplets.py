"""Triplets from documentation that is translated section by section: a heading with its section and a near one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from lamar_trainers.lexical_neighbours import lexical_neighbours
from lamar_trainers.parallel_corpus import ENGLISH

Section = Mapping[str, str]  # id ("FILE#NUMBER"), title, heading, text


def read_sections(folder: str | Path) -> dict[str, dict[str, Section]]:
    """Return the sections of every `LANGUAGE.jsonl` of a folder, by language and id.

    Raises:
        ValueError: no such files.
    """
    files = sorted(Path(folder).glob("*.jsonl"))
    if not files:
        raise ValueError(f"got {folder}, expected a folder with LANGUAGE.jsonl files: en.jsonl, de.jsonl")
    return {
        path.stem: {row["id"]: row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
        for path in files
    }


def write_section_triplets(folder: str | Path, sections: Mapping[str, Mapping[str, Section]]) -> int:
    """Write the folder that `folder_corpus` reads, with the sections that all languages have; return how many.

    The query is the heading after its document's title ("title: heading"); the negative is the section of another
    file that is lexically nearest to the English query.

    Args:
        folder: is made.
        sections: by language and id; English ("en") is one of the languages.

    Raises:
        ValueError: no English, or fewer than two files with sections in every language.
    """
    if ENGLISH not in sections:
        raise ValueError(f"got sections in {', '.join(sections)}, expected English ('en') among them")
    english = sections[ENGLISH]
    ids = [name for name in english if all(name in rows for rows in sections.values())]
    files: dict[str, set[int]] = {}
    for position, name in enumerate(ids):
        files.setdefault(_file(name), set()).add(position)
    if len(files) < 2:
        raise ValueError(
            f"got sections of {len(files)} files in every language, expected 2 or more: negatives are of other files"
        )
    near = lexical_neighbours(
        [_query(english[name]) for name in ids],
        [english[name]["text"] for name in ids],
        count=1,
        excluded=[files[_file(name)] for name in ids],
    )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for language, rows in sections.items():
        lines = []
        for name, (other,) in zip(ids, near, strict=True):
            row = {"id": name, "query": _query(rows[name]), "positive": rows[name]["text"]}
            lines.append(json.dumps({**row, "negative": rows[ids[other]]["text"]}, ensure_ascii=False) + "\n")
        (folder / f"{language}.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(ids)


def _query(section: Section) -> str:
    title, heading = section["title"].strip(), section["heading"].strip()
    return heading if title == heading or not title else f"{title}: {heading}"


def _file(name: str) -> str:
    return name.rpartition("#")[0]
