"""Pushing a folder to a Hugging Face Space. What the Hub refuses comes as one line that says what to do."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from openenv_core.errors import ConfigurationError, OpenEnvError
from openenv_core.extras import needs_extra
from openenv_core.packaging.project import MANIFEST

__all__ = ["Hub", "HubError", "PushedSpace"]

_ADVICE = {
    401: "the Hub does not know this token: log in with `hf auth login`, or set HF_TOKEN",
    402: "the Hub asks for payment: take a hardware that your account may use (--hardware cpu-basic), or add a payment "
    "method at {endpoint}/settings/billing",
    403: "this token may not write to {repo_id}: use one with the role `write`, and an owner that you belong to",
    404: "the Hub has no {repo_id} that this token may see: is the owner's name right?",
    409: "{repo_id} has changed meanwhile, or its name is taken: push again, or take another --repo-id",
    429: "the Hub asks to slow down: wait some minutes, then push again",
}
_FRESH = frozenset({"README.md", ".gitattributes"})
"""What the Hub itself puts into a new Space."""


class HubError(OpenEnvError):
    """The Hub refused something, or cannot be reached. Details: ``status``, the HTTP status, where there is one."""


@dataclass(frozen=True)
class PushedSpace:
    """A Space after a push.

    Attributes:
        url: of its page.
        commit: id of the commit that was made.
        removed: files of an earlier push that this one has no longer.
    """

    url: str
    commit: str
    removed: tuple[str, ...]


class Hub:
    """The Hub, as far as pushing a Space needs it.

    Attributes:
        endpoint: its address: ``HF_ENDPOINT``, else the public one.

    Raises:
        ConfigurationError: the extra ``hub`` is not installed.
    """

    def __init__(self) -> None:
        try:
            from huggingface_hub import HfApi, constants
        except ImportError:
            raise ConfigurationError(needs_extra("pushing needs", "hub")) from None
        self.endpoint = constants.ENDPOINT.rstrip("/")
        self._api: HfApi = HfApi(endpoint=self.endpoint)

    def repo_id(self, given: str | None, name: str) -> str:
        """``owner/name`` of the Space.

        Args:
            given: ``owner/name``, or a name alone, which means a Space of the user's own, or ``None``.
            name: of the Space, where none is given.

        Raises:
            HubError: the user's name is needed and nobody is logged in.
        """
        from huggingface_hub import get_token

        if given is not None and "/" in given:
            return given
        if get_token() is None:
            raise HubError("whose Space is it? Log in with `hf auth login`, or give --repo-id OWNER/NAME")
        with _advice(self.endpoint, given or name):
            return f"{self._api.whoami()['name']}/{given or name}"

    def push(
        self,
        folder: Path,
        repo_id: str,
        *,
        private: bool = False,
        variables: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        hardware: str | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> PushedSpace:
        """Make the Space as ``folder`` is, in one commit.

        Args:
            folder: what is uploaded; what an earlier push has left and the folder has not is removed.
            repo_id: ``owner/name``.
            private: for a Space that is new.
            variables, secrets: environment variables of the Space; set before the commit, so that it starts with them.
            hardware: what the Space runs on, in the Hub's words.
            report: is told what happens.

        Raises:
            HubError: the Hub refused; the message says what to do.
            ConfigurationError: the Space exists and is no environment's.
        """
        with _advice(self.endpoint, repo_id):
            report(f"create {repo_id}, where it is not there yet")
            self._api.create_repo(
                repo_id, repo_type="space", space_sdk="docker", private=private or None, exist_ok=True
            )
            there = self._api.list_repo_files(repo_id, repo_type="space")
            if MANIFEST not in there and not _FRESH.issuperset(there):
                raise ConfigurationError(
                    f"the Space {repo_id} exists and has no {MANIFEST}: a push would replace something else. "
                    "Take another --repo-id, or delete that Space first"
                )
            for name, value in (variables or {}).items():
                report(f"set variable {name}")
                self._api.add_space_variable(repo_id, name, value)
            for name, value in (secrets or {}).items():
                report(f"set secret {name}")
                self._api.add_space_secret(repo_id, name, value)
            made = self._commit(folder, repo_id, there, report)
            if hardware is not None:
                report(f"request hardware {hardware}")
                self._api.request_space_hardware(repo_id, cast("Any", hardware))
            return made

    def _commit(self, folder: Path, repo_id: str, there: list[str], report: Callable[[str], None]) -> PushedSpace:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        here = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        removed = tuple(sorted(name for name in there if name not in here))
        report(f"upload {len(here)} files" + (f", remove {len(removed)}" if removed else ""))
        commit = self._api.create_commit(
            repo_id,
            [
                *(CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(path)) for name, path in here.items()),
                *(CommitOperationDelete(path_in_repo=name) for name in removed),
            ],
            commit_message="Push the environment",
            repo_type="space",
        )
        return PushedSpace(f"{self.endpoint}/spaces/{repo_id}", str(commit.oid), removed)


@contextlib.contextmanager
def _advice(endpoint: str, repo_id: str) -> Iterator[None]:
    """Turns what the Hub's library raises into one line of advice."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    try:
        yield
    except OpenEnvError:
        raise
    except LocalTokenNotFoundError as error:
        raise HubError(_ADVICE[401]) from error
    except HFValidationError as error:
        raise HubError(f"{repo_id!r} is no name of a Space: {error}") from error
    except HfHubHTTPError as error:
        raise _refusal(error, endpoint, repo_id) from error
    except RuntimeError as error:
        # An upload that fails in one of the library's threads.
        if isinstance(error.__cause__, HfHubHTTPError):
            raise _refusal(error.__cause__, endpoint, repo_id) from error
        raise HubError(f"the upload failed: {error}") from error
    except Exception as error:
        # The library's transport has errors of its own, below no builtin class; which transport it is has changed.
        if isinstance(error, OSError) or type(error).__module__.startswith("httpx"):
            raise HubError(f"the Hub at {endpoint} cannot be reached: {error}") from error
        raise


def _refusal(error: Any, endpoint: str, repo_id: str) -> HubError:
    status = error.response.status_code
    said = " ".join((error.server_message or "").split())
    advice = _ADVICE.get(status, "the Hub refused; its status page is status.huggingface.co").format(
        endpoint=endpoint, repo_id=repo_id
    )
    return HubError(f"{advice} (HTTP {status}{f': {said}' if said else ''})", status=status)
