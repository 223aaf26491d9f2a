"""What a rerank server is and what it serves: told by the user or the URL, else asked of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lamar_rag.scoring.http_retry import Stop
from lamar_rag.scoring.remote_answer import parsed
from lamar_rag.scoring.remote_client import HttpAnswer, RemoteClient
from lamar_rag.scoring.remote_errors import RemoteScoringError, RemoteUnavailableError, one_line
from lamar_rag.scoring.remote_shapes import SHAPES, RerankShape
from lamar_rag.scoring.remote_url import ServerUrl

_MODELS = "/v1/models"
_SHOWN_MODELS = 5


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go, in which shape, for which model (None where none is sent)."""

    shape: RerankShape
    endpoint: str
    model: str | None


def check_shape(shape: RerankShape, *, model: str | None, max_length: int | None) -> None:
    """Raise ValueError where a shape needs a model that is not named, or has no place for a length."""
    if shape.model_need == "required" and model is None:
        raise ValueError(
            f"got shape '{shape.name}' without a model: name it, such as model='{shape.example_model}'"
        )
    if shape.length_key is None and max_length is not None:
        raise ValueError(
            f"got max_length={max_length} for shape '{shape.name}', whose servers cut at their own limit: leave it out"
        )


def find_target(
    client: RemoteClient, url: ServerUrl, shape: RerankShape | None, model: str | None, stop: Stop
) -> Target:
    """Return the target, asking the server for what is not known: at most three small GETs.

    Raises:
        ValueError: the server is of no known kind, or serves several models.
        RemoteScoringError: it does not tell its model.
    """
    found = shape or _asked_shape(client, url, stop)
    check_shape(found, model=model, max_length=None)
    if model is None and found.model_need == "ask":
        model = _asked_model(client, url, stop)
    return Target(found, url.endpoint(found), model)


def _asked_shape(client: RemoteClient, url: ServerUrl, stop: Stop) -> RerankShape:
    statuses: list[str] = []
    hint = f"name its API with shape= ({', '.join(repr(name) for name in SHAPES)})"
    for path, (name, recognises) in _PROBES.items():
        try:
            answer = client.get(url.root + path, stop)
        except RemoteUnavailableError as error:
            raise RemoteUnavailableError(
                f"{error} (asked GET {path} for shape='auto'; a server that does not know it: {hint})"
            ) from None
        if answer.status == 200 and recognises(_json(answer)):
            return SHAPES[name]
        statuses.append(f"HTTP {answer.status} to GET {path}")
    raise ValueError(
        f"got server {client.server}, which cannot be recognised ({', '.join(statuses)}): {hint}, "
        "and where it wants a key, api_key_env="
    )


def _asked_model(client: RemoteClient, url: ServerUrl, stop: Stop) -> str:
    answer = client.get(url.root + _MODELS, stop)
    content = _json(answer)
    if answer.status != 200 or not _is_model_list(content):
        raise RemoteScoringError(
            f"rerank server {client.server} does not tell which model it serves (HTTP {answer.status} to GET "
            f"{_MODELS}: {client.excerpt(answer.body)}): name it with model=, and a key it wants with api_key_env="
        )
    names = _model_names(content)
    if len(names) != 1:
        shown = ", ".join(one_line(name) for name in names[:_SHOWN_MODELS]) or "no model"
        raise ValueError(f"got server {client.server}, which serves {shown}: choose one with model=")
    return names[0]


def _json(answer: HttpAnswer) -> object:
    try:
        return parsed(answer.body)
    except ValueError:
        return None  # a page or nothing: told by the caller, with the status


def _is_tei(content: object) -> bool:
    return isinstance(content, dict) and {"model_id", "max_client_batch_size"} <= content.keys()


def _is_model_list(content: object) -> bool:
    return isinstance(content, dict) and isinstance(content.get("data"), list)


def _model_names(content: object) -> list[str]:
    data = content["data"] if isinstance(content, dict) else []
    return [row["id"] for row in data if isinstance(row, dict) and isinstance(row.get("id"), str)]


_PROBES: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "/info": ("tei", _is_tei),
    _MODELS: ("vllm", _is_model_list),
}
