"""What the Wordle example does around GRPO: games of a solver, a warm-up on them, an evaluation with a table."""

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from _training import device_settings

from openenv_core.training import tool_schemas
from openenv_core.training.evaluation import Evaluation, evaluate
from textarena_env.tools import WordleTools
from textarena_env_server.players import WordleSolver

__all__ = ["Solver", "solved_games", "table", "warm_up"]

_IGNORED = -100
"""The label of a token on which no loss is taken."""

_MARKS = re.compile(r"^([A-Z](?: [A-Z]){4})\n([GYX](?: [GYX]){4})$", re.MULTILINE)


class Solver:
    """Plays Wordle by elimination, and answers as a model does."""

    sees = False

    def complete(self, messages: Sequence[Mapping[str, Any]], tools: Any) -> dict[str, Any]:
        """The next guess, as a tool call."""
        told = [str(message["content"]) for message in messages if message["role"] == "tool"]
        pairs = [pair for text in told for pair in _MARKS.findall(text)]
        known = tuple((word.replace(" ", "").lower(), marks.replace(" ", "")) for word, marks in pairs)
        call = {"name": "guess", "arguments": {"word": _best_guess(known)}}
        said = {"id": f"call_{len(messages)}", "type": "function", "function": call}
        return {"role": "assistant", "content": "", "tool_calls": [said]}


@cache
def _best_guess(known: tuple[tuple[str, str], ...]) -> str:
    solver = WordleSolver()
    for word, marks in known:
        solver.learn(word, marks)
    return solver.guess()


def solved_games(factory: Any, count: int, seed: int, path: Path) -> list[list[dict[str, Any]]]:
    """Let the solver play, and write the games that it wins as JSON lines with ``messages`` and ``tools``."""
    played = evaluate(factory, Solver(), range(seed, seed + count), max_turns=6)
    games = [[*game.messages, {"role": "assistant", "content": "Done."}] for game in played.episodes if game.success]
    schemas = tool_schemas(WordleTools)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"messages": game, "tools": schemas}) for game in games)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"the solver has won {len(games)} of {count} games; they are in {path}")
    return games


def warm_up(options: argparse.Namespace, model: Any, tokenizer: Any, path: Path) -> None:
    """Supervised fine-tuning on the games in a file, on what the assistant says in them."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer
    from trl.chat_template_utils import get_training_chat_template

    # Tokenized here: a column of tool calls with different arguments would be filled up with empty ones.
    template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        game = json.loads(line)
        encoded = tokenizer.apply_chat_template(
            game["messages"],
            tools=game["tools"],
            chat_template=template,
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        ids, said = list(encoded["input_ids"]), encoded["assistant_masks"]
        labels = [token if is_said else _IGNORED for token, is_said in zip(ids, said, strict=True)]
        rows.append({"input_ids": ids, "labels": labels})
    settings = SFTConfig(
        output_dir=str(options.output / "sft"),
        num_train_epochs=options.sft_epochs,
        per_device_train_batch_size=min(options.batch, len(rows)),
        learning_rate=options.sft_learning_rate,
        max_length=None,
        logging_steps=max(1, options.sft_epochs // 4),
        report_to=options.report_to,
        save_strategy="no",
        seed=options.seed,
        **{name: value for name, value in device_settings(options).items() if name != "save_strategy"},
    )
    trainer = SFTTrainer(model=model, processing_class=tokenizer, train_dataset=Dataset.from_list(rows), args=settings)
    trainer.train()


def table(found: Mapping[str, Evaluation]) -> str:
    """Wins, guesses per win and guesses that did not count, one column for each evaluation of the same words; below it
    the words, with the number of guesses that each took."""
    columns = {name: evaluation.summary() for name, evaluation in found.items()}
    lines = [f"{'':18}" + "".join(f"{name:>14}" for name in columns)]
    for title, figure in (
        ("wins", lambda one: f"{one['solved']} of {one['counted']}"),
        ("guesses per win", lambda one: _number(one["mean_steps_if_solved"])),
        ("invalid guesses", lambda one: str(one["invalid_actions"])),
    ):
        lines.append(f"{title:18}" + "".join(f"{figure(one):>14}" for one in columns.values()))
    lines += ["", "guesses for each word"]
    for number, episode in enumerate(next(iter(found.values())).episodes):
        played = [evaluation.episodes[number] for evaluation in found.values()]
        word = next(filter(None, map(_word_of, played)), f"seed {episode.seed}")
        took = [str(one.steps) if one.success else "-" if one.fault is None else "fault" for one in played]
        lines.append(f"{word:18}" + "".join(f"{guesses:>14}" for guesses in took))
    return "\n".join(lines)


def _word_of(episode: Any) -> str | None:
    """The word of a game, which is told at its end."""
    if episode.success:
        calls = [call for message in episode.messages for call in message.get("tool_calls", ())]
        return str(calls[-1]["function"]["arguments"]["word"]) if calls else None
    told = [re.search(r"\*\*(\w+)\*\*", str(message["content"])) for message in episode.messages]
    return next((match[1] for match in told if match is not None), None)


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}"
