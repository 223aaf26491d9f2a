"""Reports as files, by jinja2 templates."""

from __future__ import annotations

import base64
from importlib import resources
from pathlib import Path
from typing import Any

from lamar_rag.evaluation.report_model import Report
from lamar_rag.extras import require

_MARKDOWN_SPECIAL = str.maketrans(
    {**{mark: f"\\{mark}" for mark in "\\`*_|"}, "<": "&lt;", "&": "&amp;", "\n": " "}
)


def write_markdown(report: Report, path: Path) -> Path:
    """Write the report as Markdown; its figures are links to the SVG files beside it."""
    environment = _environment(autoescape=False)
    environment.filters["cell"] = _escaped
    return _write(environment, "report.md.jinja", path, report=report)


def write_html(report: Report, path: Path) -> Path:
    """Write the report as one HTML file that holds its figures; it needs nothing else and runs no script."""
    environment = _environment(autoescape=True)
    images = {
        figure.name: base64.b64encode((path.parent / f"{figure.name}.svg").read_bytes()).decode("ascii")
        for section in report.sections
        for figure in section.figures
    }
    return _write(environment, "report.html.jinja", path, report=report, images=images)


def _environment(*, autoescape: bool) -> Any:
    jinja2: Any = require("jinja2", extra="eval", purpose="the report")
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _template(name: str) -> str:
    folder = resources.files("lamar_rag.evaluation").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _write(environment: Any, template: str, path: Path, **values: Any) -> Path:
    path.write_text(environment.get_template(template).render(**values), encoding="utf-8")
    return path


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is; brackets stay, for intervals are written in them."""
    return text.translate(_MARKDOWN_SPECIAL).replace("](", "]\\(")
