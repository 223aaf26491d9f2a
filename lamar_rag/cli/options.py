"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad rows and files out, and say which.")]
ProfileName = Annotated[str, typer.Option("--profile", help="Settings: embedded (offline, CPU) or full.")]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda, cuda:1, ...; a GPU if there is one.")
]
Dtype = Annotated[str | None, typer.Option("--dtype", help="float32, bfloat16, float16, or int8 on a CPU.")]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", help="Tokens of a pair; the model's own otherwise.")
]
RemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run the Python code of the model's repository.")
]
