"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows and files out, and say which.")]
ProfileName = Annotated[str, typer.Option("--profile", help="Settings: embedded (offline, CPU) or full.")]
