# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "datasets", "openenv-core", "openenv-openspiel-env", "openenv-openspiel-env-server", "openenv-textarena",
#     "openenv-textarena-server", "torch", "trl>=1.8",
# ]
# ///
"""Train one model on two environments at once, Wordle and Catch; the dataset's column `environment` says which.

python examples/grpo_multi_env.py
python examples/grpo_multi_env.py --cpu --model tiny --max-steps 2
"""

import random

from _training import parser, server, train

from openenv_core.training import MultiEnvironment, environment_factory, make_rows
from openspiel_env.tools import CATCH_PROMPT, CatchTools, catch_reward
from textarena_env.tools import WORDLE_PROMPT, WordleTools, wordle_partial_reward, wordle_win_reward


def main() -> None:
    """Run it."""
    made = parser(__doc__, env_name="textarena_env (Wordle)")
    made.add_argument("--catch-url", help="a server of openspiel_env; without it one is started on this machine")
    options = made.parse_args()
    game, sessions = {"TEXTARENA_ENV_ID": "Wordle-v0"}, options.batch + 1
    with server(options, "textarena_env", sessions=sessions, variables=game) as wordle_url:
        options.env_url = options.catch_url
        with server(options, "openspiel_env", sessions=sessions) as catch_url:
            half = options.dataset_size // 2
            rows = make_rows(half, options.seed, prompt=WORDLE_PROMPT, environment="wordle")
            rows += make_rows(half, options.seed + 1, prompt=CATCH_PROMPT, environment="catch")
            random.Random(options.seed).shuffle(rows)
            several = MultiEnvironment(
                wordle=environment_factory(WordleTools, wordle_url, rollouts=options.batch),
                catch=environment_factory(CatchTools, catch_url, rollouts=options.batch),
            )
            rewards = [wordle_win_reward, wordle_partial_reward, catch_reward]
            train(options, factory=several, rewards=rewards, rows=rows)


if __name__ == "__main__":
    main()
