"""What is wrong with a corpus, and where: raised, or counted and listed with `skip_bad`."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_LISTED = 10_000


class BadRowError(ValueError):
    """A row (or a file) of a corpus cannot become a document. The message is `file:line: reason (fix)`."""

    def __init__(self, file: str, line: int | None, reason: str, fix: str) -> None:
        self.file = file
        self.line = line
        self.reason = reason
        self.fix = fix
        place = file if line is None else f"{file}:{line}"
        super().__init__(
            f"{place}: {reason} (fix: {fix}, or leave bad rows out with skip_bad=True, --skip-bad)"
        )


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """A row that was left out. `line` counts from 1; None where the whole file was left out."""

    file: str
    line: int | None
    reason: str


@dataclass(slots=True)
class RowErrors:
    """Counts the bad rows of one reading; lists the first 10,000 of them.

    Reports which id was seen where, so that a repeated one is found.
    """

    skip_bad: bool = False
    skipped: int = 0
    listed: list[SkippedRow] = field(default_factory=list)
    _seen: dict[str, tuple[str, int | None]] = field(default_factory=dict)

    def add(self, error: BadRowError) -> None:
        """Count the bad row, or raise `error` unless bad rows are to be skipped."""
        if not self.skip_bad:
            raise error
        self.skipped += 1
        if len(self.listed) < MAX_LISTED:
            self.listed.append(SkippedRow(error.file, error.line, error.reason))

    def check_id(self, document_id: str, file: str, line: int | None) -> None:
        """Remember an id.

        Raises:
            BadRowError: if the id was seen before.
        """
        if not document_id:
            return
        first = self._seen.setdefault(document_id, (file, line))
        if first != (file, line):
            place = first[0] if first[1] is None else f"{first[0]}:{first[1]}"
            reason = f"the id '{document_id}' is already used at {place}"
            raise BadRowError(file, line, reason, "give every document its own id")
