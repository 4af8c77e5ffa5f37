# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "datasets", "openenv-core", "openenv-textarena", "openenv-textarena-server", "torch", "trl>=1.10",
# ]
# ///
"""Train a model to play Wordle, a game of TextArena.

python examples/grpo_wordle.py
python examples/grpo_wordle.py --cpu --model tiny --max-steps 2
"""

from _training import parser, server, train

from openenv_core.training import environment_factory, make_rows
from textarena_env.tools import (
    WORDLE_PROMPT,
    WordleTools,
    wordle_invalid_reward,
    wordle_partial_reward,
    wordle_win_reward,
)


def main() -> None:
    """Run it."""
    options = parser(__doc__, env_name="textarena_env").parse_args()
    game = {"TEXTARENA_ENV_ID": "Wordle-v0"}
    with server(options, "textarena_env", sessions=options.batch + 1, variables=game) as base_url:
        rows = make_rows(options.dataset_size, options.seed, prompt=WORDLE_PROMPT)
        factory = environment_factory(WordleTools, base_url, rollouts=options.batch)
        train(
            options,
            factory=factory,
            rewards=[wordle_win_reward, wordle_partial_reward, wordle_invalid_reward],
            rows=rows,
        )


if __name__ == "__main__":
    main()
