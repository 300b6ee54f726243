"""A model and its card written to a repository of a hub."""

from __future__ import annotations

from os import PathLike

from gapgram.errors import FetchError, ModelFileError, UsageError
from gapgram.models.mixture import Mixture
from gapgram.models.model import Model
from gapgram.models.open import load
from gapgram.models.places import hub_client, hub_repository
from gapgram.queries.language_model import LanguageModel
from gapgram.reporting.model_card import model_card


def push(model: LanguageModel | str | PathLike[str], address: str, *, private: bool = False) -> str:
    """Write a model, which has a file, and its card to `hf://OWNER/NAME`; the address of the page that shows them.

    The repository is made if it is not there; `private`: only who may see it can. The account is the one that the hub's
    own program knows (`hf auth login`).
    """
    repository, file, revision = hub_repository(address)
    opened = model if isinstance(model, LanguageModel) else load(model)
    if not isinstance(opened, Model | Mixture):
        raise UsageError("push needs a model that gapgram train or mix has written")
    if opened.path is None:
        raise ModelFileError("a model is pushed from its file: save it first")
    hub, errors = hub_client()
    card = model_card(opened).replace(opened.path.name, address)
    try:
        api = hub.HfApi()
        api.create_repo(repository, private=private, exist_ok=True)
        parts = ((str(opened.path), file), (card.encode(), "README.md"))
        operations = [hub.CommitOperationAdd(path_in_repo=name, path_or_fileobj=held) for held, name in parts]
        done = api.create_commit(repository, operations, commit_message=f"Add {file}", revision=revision)
    except errors as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FetchError(f"{address}: not written to the hub: {said}") from None
    return str(done.repo_url)
