"""Let an agent behind an OpenAI-compatible API play: tool schemas out, tool calls in.

    python examples/loop_agent.py --api http://127.0.0.1:8000/v1 --model my-model --episodes 4

Without ``--api`` a scripted stand-in for a model answers, so that the loop can be tried.
"""

import argparse
import json
from collections.abc import Callable
from typing import Any

from _training import server

from openenv_core.training import Episode, ToolCallError, environment_factory, tool_schemas
from openspiel_env.tools import CATCH_PROMPT, CatchTools

Complete = Callable[[list[dict[str, Any]], list[dict[str, Any]]], dict[str, Any]]
"""Messages and tools to the assistant's message."""


def over_http(api: str, model: str) -> Complete:
    """A model behind ``POST /chat/completions``."""
    import httpx

    def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        body = {"model": model, "messages": messages, "tools": tools}
        reply = httpx.post(f"{api}/chat/completions", json=body, timeout=120.0)
        reply.raise_for_status()
        message: dict[str, Any] = reply.json()["choices"][0]["message"]
        return message

    return complete


def stand_in(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A player who does what the last message suggests."""
    seen = str(messages[-1]["content"])
    if "The ball is" not in seen:
        return {"role": "assistant", "content": "Done."}
    side = "left" if "to the left" in seen else "right" if "to the right" in seen else None
    name, arguments = ("move", {"direction": side}) if side else ("stay", {})
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def play(environment: Any, complete: Complete, seed: int, *, max_turns: int = 20) -> Episode:
    """One episode. A tool's error goes to the model, as any answer does."""
    tools = tool_schemas(type(environment))
    known = {tool["function"]["name"] for tool in tools}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": CATCH_PROMPT + str(environment.reset(seed=seed) or "")}
    ]
    for _ in range(max_turns):
        said = complete(messages, tools)
        messages.append(said)
        calls = said.get("tool_calls") or []
        for call in calls:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            try:
                if name not in known:
                    raise ToolCallError(f"there is no tool {name!r}")
                told = getattr(environment, name)(**json.loads(arguments or "{}"))
            except ValueError as error:
                told = f"error: {error}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
        if not calls:
            break
    episode: Episode = environment.episode
    return episode


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--api", help="base address of the API; without it a scripted stand-in plays")
    parser.add_argument("--model", default="default", help="name of the model")
    parser.add_argument("--env-url", help="a server of openspiel_env; without it one is started")
    parser.add_argument("--episodes", type=int, default=4, help="number of episodes")
    options = parser.parse_args()
    complete = over_http(options.api, options.model) if options.api else stand_in
    with server(options, "openspiel_env", sessions=4) as base_url, environment_factory(CatchTools, base_url) as factory:
        environment = factory()
        episodes = [play(environment, complete, seed) for seed in range(options.episodes)]
    counted = [episode.reward for episode in episodes if episode.reward is not None]
    print(f"{len(counted)} of {len(episodes)} episodes count; mean reward {sum(counted) / max(1, len(counted)):.2f}")


if __name__ == "__main__":
    main()
