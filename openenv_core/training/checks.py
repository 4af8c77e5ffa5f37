"""What can be known to be wrong before the first rollout."""

import logging
from collections.abc import Mapping
from typing import Any

from openenv_core.errors import ConfigurationError
from openenv_core.training.factory import EnvironmentFactory, MultiEnvironment
from openenv_core.training.schemas import tool_names

__all__ = ["check_dataset", "check_template", "factories_of", "rollouts_of"]

_log = logging.getLogger(__name__)

_TOOL_NAME, _ARGUMENT, _RESULT = "look_up_kiwi", "plum", "quince"


def factories_of(trainer: Any) -> dict[str | None, EnvironmentFactory]:
    """The factories of ours that a trainer was given, by environment name (``None`` for a single one)."""
    given = getattr(trainer, "environment_factories", None) or {}
    found: dict[str | None, EnvironmentFactory] = {}
    for name, factory in given.items():
        if isinstance(factory, MultiEnvironment):
            found.update(factory)
        elif isinstance(factory, EnvironmentFactory):
            found[name] = factory
    return found


def rollouts_of(args: Any) -> int:
    """How many rollouts a trainer has under way at a time, over all its processes."""
    processes = getattr(args, "world_size", 1) or 1
    training = getattr(args, "generation_batch_size", None)
    if training is None:
        training = args.per_device_train_batch_size * (getattr(args, "steps_per_generation", None) or 1) * processes
    evaluating = 0
    if getattr(args, "eval_strategy", "no") != "no":
        evaluating = args.per_device_eval_batch_size * processes
    return max(int(training), int(evaluating))


def check_dataset(dataset: Any, factories: Mapping[str | None, EnvironmentFactory]) -> None:
    """See to it that the rows fit the environments.

    Raises:
        ConfigurationError: a row names an environment that there is not, or prompts are not conversations.
    """
    columns = getattr(dataset, "column_names", None)
    if dataset is None or columns is None:
        return
    names = {name for name in factories if name is not None}
    if names:
        if "environment" not in columns:
            raise ConfigurationError(
                f"several environments need a column 'environment' in the dataset; it has {', '.join(columns)}"
            )
        wrong = sorted({str(name) for name in dataset["environment"]} - names)
        if wrong:
            raise ConfigurationError(
                f"the dataset's column 'environment' names {', '.join(map(repr, wrong))}; there are "
                f"{', '.join(sorted(names))}"
            )
    if "prompt" in columns and len(dataset) and not isinstance(dataset[0]["prompt"], list):
        raise ConfigurationError("prompts must be lists of messages (role, content) for a model that calls tools")
    if "seed" not in columns:
        _log.warning(
            "the dataset has no column 'seed': the rollouts of a group start in different states, and the group's "
            "mean is a poor baseline; make_dataset gives one seed for each group"
        )


def check_template(tokenizer: Any, factories: Mapping[str | None, EnvironmentFactory]) -> None:
    """See to it that the chat template shows tools, tool calls and their results.

    Raises:
        ConfigurationError: it leaves something out, or the environments show pictures and the model sees none.
    """
    sees = getattr(tokenizer, "image_processor", None) is not None
    shown = sorted({factory.tools.__name__ for factory in factories.values() if factory.tools.shows_pictures})
    if shown and not sees:
        raise ConfigurationError(
            f"{', '.join(shown)} shows pictures, and this model reads text only: what it is shown would be empty; use "
            "a vision model, or tools that show text"
        )
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": _TOOL_NAME, "arguments": {"key": _ARGUMENT}}}],
        },
        {"role": "tool", "name": _TOOL_NAME, "content": _RESULT},
    ]
    if sees:  # processors want content as blocks
        messages = [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
    tools = [getattr(factory.tools, name) for factory in factories.values() for name in tool_names(factory.tools)]
    try:
        text = tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True)
    except Exception as error:
        raise ConfigurationError(f"the chat template cannot show tool calls: {error}") from error
    missing = [
        word for word in (_TOOL_NAME, _ARGUMENT, _RESULT, *(tool.__name__ for tool in tools)) if word not in text
    ]
    if missing:
        raise ConfigurationError(
            f"the chat template leaves out parts of tool calls ({', '.join(missing)}); use a model whose template "
            "supports tools"
        )
