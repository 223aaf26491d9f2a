"""Rows of a hub data set at a pinned revision."""

from __future__ import annotations

import logging
from typing import Any

from lamar_rag.extras import require

logger = logging.getLogger(__name__)


def hub_rows(repository: str, revision: str, config: str, split: str) -> list[dict[str, Any]]:
    """Return all rows; a line says what is fetched where it is not cached.

    Raises:
        FileNotFoundError: the hub is switched off or out of reach, and the data set is not cached.
    """
    datasets = require("datasets", extra="eval", purpose="a data set of the hub")
    logger.warning(
        "loading %s %s at %s from the Hugging Face Hub or its cache", repository, config, revision[:7]
    )
    try:
        return [
            dict(row) for row in datasets.load_dataset(repository, config, split=split, revision=revision)
        ]
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"data set {repository} ({config}) did not load ({type(error).__name__}: {error}): give its files with "
            "--data FOLDER, or run once where there is a network"
        ) from error
