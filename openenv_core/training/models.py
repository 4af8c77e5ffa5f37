"""Models that can be evaluated: one behind an OpenAI-compatible API, and one of this machine."""

import base64
import importlib
import inspect
import io
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import httpx

from openenv_core.errors import ConfigurationError
from openenv_core.extras import needs_extra
from openenv_core.training.evaluation import Message, ModelFailedError

__all__ = ["ApiModel", "LocalModel"]

_ATTEMPTS = 3
_REFUSED = {401: "wants another key", 403: "wants another key", 404: "has no such address or model"}


class ApiModel:
    """A model behind ``POST /chat/completions`` of an OpenAI-compatible server.

    Args:
        base_url: of the API, for example ``http://127.0.0.1:8000/v1``.
        name: of the model; ``None``: the first one that the server lists.
        key: sent as a bearer token.
        temperature: of sampling; 0 for the likeliest answer.
        max_tokens: of one answer; ``None``: as the server has it.
        timeout_s: limit of one answer.
        wait_s: pause before a failed request is sent again, doubled each time; three attempts in all.

    Raises:
        ConfigurationError: the server lists no model, or refuses.
        ModelFailedError: it does not answer.
    """

    sees = True

    def __init__(
        self,
        base_url: str,
        name: str | None = None,
        *,
        key: str | None = None,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        timeout_s: float = 120.0,
        wait_s: float = 1.0,
    ) -> None:
        from openenv_core.client._base import is_loopback

        self.base_url = base_url.rstrip("/")
        self._settings: dict[str, Any] = {"temperature": temperature}
        if max_tokens is not None:
            self._settings["max_tokens"] = max_tokens
        self._wait_s = wait_s
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(timeout=timeout_s, headers=headers, trust_env=not is_loopback(self.base_url))
        self.name = name if name is not None else self._first_model()

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        """The assistant's next message.

        Raises:
            ModelFailedError: no answer, three times.
            ConfigurationError: the server refuses the key, the model or the address.
        """
        body = {"model": self.name, "messages": _for_api(messages), "tools": list(tools), **self._settings}
        reply = self._request("POST", "/chat/completions", body)
        try:
            message: Message = reply["choices"][0]["message"]
            kept = {"role": "assistant", "content": message.get("content") or ""}
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ModelFailedError(f"{self.base_url} answered with something else than a message: {reply}") from error
        return {**kept, "tool_calls": message["tool_calls"]} if message.get("tool_calls") else kept

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _first_model(self) -> str:
        listed = self._request("GET", "/models", None)
        try:
            return str(listed["data"][0]["id"])
        except (KeyError, IndexError, TypeError) as error:
            raise ConfigurationError(f"{self.base_url} lists no model; give its name with --model-name") from error

    def _request(self, method: str, path: str, body: Any) -> Any:
        failure = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(self._wait_s * 2 ** (attempt - 1))
            try:
                reply = self._http.request(method, self.base_url + path, json=body)
                if reply.status_code in _REFUSED:
                    raise ConfigurationError(f"{self.base_url}{path} {_REFUSED[reply.status_code]}: {reply.text[:300]}")
                if reply.is_success:
                    return reply.json()
            except (httpx.HTTPError, ValueError) as error:
                if isinstance(error, ConfigurationError):
                    raise
                failure = f"{type(error).__name__}: {error}"
                continue
            failure = f"{reply.status_code} {reply.text[:300]}"
            if reply.status_code < 500 and reply.status_code != httpx.codes.TOO_MANY_REQUESTS:
                break
        raise ModelFailedError(f"{self.base_url}{path} gave no answer: {failure}")


def _for_api(messages: Sequence[Message]) -> list[Message]:
    """Messages as the API takes them: pictures as data addresses, and those of a tool in a message of the user's, since
    a tool's message holds text only."""
    sent: list[Message] = []
    shown: list[Message] = []
    for message in messages:
        if message["role"] != "tool" and shown:
            sent.append({"role": "user", "content": shown})
            shown = []
        content = message.get("content")
        if not isinstance(content, list):
            sent.append(message)
            continue
        blocks = [_block(block) for block in content]
        if message["role"] == "tool":
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            sent.append({**message, "content": text})
            shown += [block for block in blocks if block["type"] != "text"]
        else:
            sent.append({**message, "content": blocks})
    return [*sent, {"role": "user", "content": shown}] if shown else sent


def _block(block: Mapping[str, Any]) -> Message:
    if block.get("type") != "image":
        return dict(block)
    buffer = io.BytesIO()
    block["image"].save(buffer, "PNG")
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{text}"}}


class LocalModel:
    """A text model of this machine, with Transformers; TRL reads its tool calls, as in training. Needs ``training``.

    Questions that come while it answers others are answered together afterwards, in one batch.

    Args:
        model: a folder or a name of a model, or a loaded model.
        tokenizer: of a loaded model.
        temperature: of sampling; 0 for the likeliest answer.
        max_tokens: of one answer.

    Raises:
        ConfigurationError: the extra is not installed, there is no such model, or its form of tool calls is not known.
    """

    sees = False

    def __init__(
        self, model: Any, tokenizer: Any = None, *, temperature: float = 0.0, max_tokens: int | None = None
    ) -> None:
        try:
            self._torch: Any = importlib.import_module("torch")
            transformers: Any = importlib.import_module("transformers")
            self._trl: Any = importlib.import_module("trl.chat_template_utils")
        except ImportError as error:
            raise ConfigurationError(f"{needs_extra('a local model needs', 'training')} ({error})") from error
        self.name = model if isinstance(model, str) else type(model).__name__
        if isinstance(model, str):
            try:
                tokenizer = transformers.AutoTokenizer.from_pretrained(model, padding_side="left")
                model = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto")
            except (OSError, ValueError) as error:
                raise ConfigurationError(f"{self.name!r} cannot be loaded as a model: {error}") from error
            model.to("cuda" if self._torch.cuda.is_available() else "cpu")
        self._model, self._tokenizer = model, self._with_tool_calls(tokenizer)
        self._sampling: dict[str, Any] = {"do_sample": temperature > 0, "max_new_tokens": max_tokens or 512}
        if temperature > 0:
            self._sampling |= {"temperature": temperature, "top_k": 0, "top_p": 1.0}
        self._waiting: list[tuple[list[int], Any, Future[Message]]] = []
        self._queue, self._engine = threading.Lock(), threading.Lock()

    def complete(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        """The assistant's next message."""
        rendered = self._tokenizer.apply_chat_template(
            [_decoded(message) for message in messages],
            tools=list(tools),
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            enable_thinking=False,
        )
        answer: Future[Message] = Future()
        with self._queue:
            self._waiting.append((list(rendered["input_ids"]), list(tools), answer))
        with self._engine:
            if not answer.done():
                self._answer_all()
        return answer.result()

    def _answer_all(self) -> None:
        with self._queue:
            asked, self._waiting = self._waiting, []
        try:
            texts = self._generate([ids for ids, _, _ in asked])
            found = [self._parsed(ids, prompt, tools) for ids, (prompt, tools, _) in zip(texts, asked, strict=True)]
        except Exception as error:  # noqa: BLE001 - everyone who waits for an answer is told
            for _, _, answer in asked:
                answer.set_exception(ModelFailedError(f"{self.name}: {type(error).__name__}: {error}"))
            return
        for (_, _, answer), message in zip(asked, found, strict=True):
            answer.set_result(message)

    def _generate(self, prompts: list[list[int]]) -> list[list[int]]:
        torch, pad = self._torch, self._tokenizer.pad_token_id
        width = max(map(len, prompts))
        ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        self._model.eval()
        with torch.no_grad():
            made = self._model.generate(
                input_ids=ids.to(self._model.device),
                attention_mask=mask.to(self._model.device),
                pad_token_id=pad,
                eos_token_id=self._tokenizer.eos_token_id,
                **self._sampling,
            )
        ends = (pad, self._tokenizer.eos_token_id)
        found = []
        for row in made[:, width:].tolist():
            end = next((place for place, token in enumerate(row) if token in ends), len(row))
            found.append([*row[:end], self._tokenizer.eos_token_id])
        return found

    def _parsed(self, ids: list[int], prompt: list[int], tools: Any) -> Message:
        known = inspect.signature(self._trl.parse_response).parameters
        more = {name: value for name, value in {"prefix": prompt, "tools": tools}.items() if name in known}
        message: Message = dict(self._trl.parse_response(self._tokenizer, ids, **more))
        calls = [{"id": f"call_{number}", **call} for number, call in enumerate(message.get("tool_calls") or ())]
        kept = {"role": "assistant", "content": message.get("content") or ""}
        return {**kept, "tool_calls": calls} if calls else kept

    def _with_tool_calls(self, tokenizer: Any) -> Any:
        if any(getattr(tokenizer, name, None) is not None for name in ("response_template", "response_schema")):
            return tokenizer
        try:
            return self._trl.add_response_schema(tokenizer)
        except ValueError as error:
            raise ConfigurationError(
                f"{self.name}: TRL does not know how its chat template writes tool calls; set the tokenizer's "
                f"response_template ({error})"
            ) from error


def _decoded(message: Message) -> Message:
    """A message whose tool calls have their arguments as dictionaries, as chat templates want them."""
    return {name: value for name, value in message.items() if name != "tool_call_id"}
