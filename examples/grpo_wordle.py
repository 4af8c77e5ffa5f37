# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "datasets", "openenv-core", "openenv-textarena", "openenv-textarena-server", "torch", "trl>=1.8",
# ]
# ///
"""Train a model to play Wordle, a game of TextArena: a solver plays games, the model is warmed up on them by supervised
fine-tuning, and trained by GRPO. Before, between and after, it plays the same words, and a table tells how well.

    python examples/grpo_wordle.py
    python examples/grpo_wordle.py --games 0                            # no warm-up
    python examples/grpo_wordle.py --cpu --model tiny --games 8 --sft-epochs 40 --sft-learning-rate 5e-3 --max-steps 2

The games are in `<output>/games.jsonl`, the figures in `<output>/evaluation.json`, the model in `<output>/model`.
"""

import argparse
import json
from typing import Any

from _training import load_model, parser, server, train
from _wordle import solved_games, table, warm_up

from openenv_core.training import environment_factory, make_rows
from openenv_core.training.evaluation import Evaluation, evaluate
from openenv_core.training.models import LocalModel
from textarena_env.tools import (
    WORDLE_PROMPT,
    WordleTools,
    wordle_invalid_reward,
    wordle_partial_reward,
    wordle_win_reward,
)

REWARDS = [wordle_win_reward, wordle_partial_reward, wordle_invalid_reward]


def options_of_wordle() -> argparse.Namespace:
    """The command line."""
    made = parser(__doc__, env_name="textarena_env")
    made.add_argument("--games", type=int, default=256, help="games that the solver plays for the warm-up; 0: none")
    made.add_argument("--games-seed", type=int, default=100_000, help="seed of the solver's first game")
    made.add_argument("--sft-epochs", type=int, default=2, help="how often the warm-up goes through the games")
    made.add_argument("--sft-learning-rate", type=float, default=1e-5, help="learning rate of the warm-up")
    made.add_argument("--eval-words", type=int, default=32, help="number of words of the evaluation; 0: none")
    made.add_argument("--eval-seed", type=int, default=0, help="seed of the first of these words")
    made.add_argument("--answer-tokens", type=int, default=512, help="limit of one answer in the evaluation")
    return made.parse_args()


def main() -> None:
    """Run it."""
    options = options_of_wordle()
    sessions = max(options.batch, 8) + 1
    found: dict[str, Evaluation] = {}
    with server(options, "textarena_env", sessions=sessions, variables=WordleTools.server_variables) as base_url:
        path = options.output / "games.jsonl"
        players = environment_factory(WordleTools, base_url)
        games = solved_games(players, options.games, options.games_seed, path) if options.games else []
        rows = make_rows(options.dataset_size, options.seed, prompt=WORDLE_PROMPT)
        model, tokenizer = load_model(options, [players], games or [row["prompt"] for row in rows[:4]])

        def judge(name: str) -> None:
            if options.eval_words:
                player = LocalModel(model, tokenizer, max_tokens=options.answer_tokens)
                seeds = range(options.eval_seed, options.eval_seed + options.eval_words)
                found[name] = evaluate(environment_factory(WordleTools, base_url), player, seeds, max_turns=8)
                print(f"\n{table(found)}\n", flush=True)

        judge("before")
        if games:
            warm_up(options, model, tokenizer, path)
            judge("after warm-up")
        if options.max_steps:
            factory = environment_factory(WordleTools, base_url, rollouts=options.batch)
            trainer: Any = train(options, factory=factory, rewards=REWARDS, rows=rows, model=(model, tokenizer))
            model = trainer.model
            judge("after GRPO")
    model.save_pretrained(options.output / "model")
    tokenizer.save_pretrained(options.output / "model")
    figures = {name: evaluation.to_json() for name, evaluation in found.items()}
    (options.output / "evaluation.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
