"""Programs that people copy from the page: they play on the very server that shows them."""

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openenv_core.environment import EnvironmentSpec

__all__ = ["Snippet", "snippets_of"]


@dataclass(frozen=True)
class Snippet:
    """A program, what it is called, and the language it is in."""

    title: str
    language: str
    code: str


def snippets_of(
    spec: EnvironmentSpec | None, base_url: str, example: Mapping[str, Any], *, asks_token: bool, has_http: bool
) -> list[Snippet]:
    """The programs for an environment.

    Args:
        spec: names the typed client; without one the generic client is shown.
        base_url: this server's address.
        example: an action.
        asks_token: the server wants a bearer token.
        has_http: ``/reset`` and ``/step`` are there.
    """
    client, imported, action = _client(spec, example)
    token = ', token=os.environ["OPENENV_TOKEN"]' if asks_token else ""
    place = f'base_url="{base_url}"{token}'
    names = {"client": client, "place": place, "action": action, "imported": imported}
    os_line = "import os\n" if asks_token else ""
    found = [
        Snippet("Python", "python", (f"{os_line}\n" if os_line else "") + _BLOCKING.format(**names)),
        Snippet("Python, async", "python", f"import asyncio\n{os_line}\n" + _AWAITING.format(**names)),
    ]
    if has_http:
        found.append(Snippet("curl", "bash", _curl(base_url, example, asks_token)))
    training = _training(spec, base_url, token)
    return [*found, training] if training is not None else found


_BLOCKING = """{imported}

with {client}({place}) as env:
    result = env.reset(seed=7)
    result = env.step({action})
    print(result.observation, result.reward, result.done)
"""

_AWAITING = """{imported}


async def main() -> None:
    async with {client}({place}) as env:
        await env.reset(seed=7)
        result = await env.step({action})
        print(result.observation, result.reward, result.done)


asyncio.run(main())
"""


def _client(spec: EnvironmentSpec | None, example: Mapping[str, Any]) -> tuple[str, str, str]:
    """The client's name, the line that imports it, and an action in Python."""
    module, _, client = (spec.client if spec is not None else "").partition(":")
    action = getattr(spec.action_type, "__name__", "") if spec is not None else ""
    if module and client and action and hasattr(importlib.import_module(module), action):
        arguments = ", ".join(f"{name}={value!r}" for name, value in example.items())
        return client, f"from {module} import {action}, {client}", f"{action}({arguments})"
    return "GenericEnvClient", "from openenv_core import GenericEnvClient", repr(dict(example))


def _curl(base_url: str, example: Mapping[str, Any], asks_token: bool) -> str:
    token = ' -H "authorization: Bearer $OPENENV_TOKEN"' if asks_token else ""
    body = json.dumps({"action": dict(example)}, ensure_ascii=False).replace("'", "'\\''")
    json_type = "-H 'content-type: application/json'"
    return (
        f"curl -s -c cookies.txt{token} {json_type} \\\n  {base_url}/reset -d '{{\"seed\": 7}}'\n"
        f"curl -s -b cookies.txt{token} {json_type} \\\n  {base_url}/step -d '{body}'\n"
        f"curl -s -b cookies.txt{token} {base_url}/state\n"
    )


_TRAINING = """{os}from trl import GRPOConfig, GRPOTrainer

from openenv_core.training import environment_factory, environment_reward, make_dataset, prepare
from {module} import {tools}

trainer = GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    reward_funcs=environment_reward,
    train_dataset=make_dataset(512, seed=0, prompt="{prompt}"),
    environment_factory=environment_factory({tools}, "{base_url}"{token}),
    args=GRPOConfig(per_device_train_batch_size=16, num_generations=8, max_completion_length=1024),
)
prepare(trainer)
trainer.train()
"""


def _training(spec: EnvironmentSpec | None, base_url: str, token: str) -> Snippet | None:
    if spec is None or spec.tools is None:
        return None
    module, _, tools = spec.tools.partition(":")
    code = _TRAINING.format(
        os="import os\n\n" if token else "",
        module=module,
        tools=tools,
        prompt=spec.description,
        base_url=base_url,
        token=token,
    )
    return Snippet("Training with TRL", "python", code)
