# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "datasets", "openenv-core", "openenv-openspiel-env", "openenv-openspiel-env-server", "torch", "trl>=1.8",
# ]
# ///
"""Train a model to catch a falling ball, a game of OpenSpiel.

python examples/grpo_catch.py --model Qwen/Qwen3-0.6B
python examples/grpo_catch.py --cpu --model tiny --max-steps 2
python -m openenv_core.training.demo        # the same on a CPU, with a model that learns it in minutes
"""

from _training import parser, server, train

from openenv_core.training import environment_factory, make_rows
from openspiel_env.tools import CATCH_PROMPT, CatchTools, catch_reward


def main() -> None:
    """Run it."""
    made = parser(__doc__, env_name="openspiel_env")
    made.add_argument("--rows", type=int, default=10, help="height of the board")
    options = made.parse_args()
    with server(options, "openspiel_env", sessions=options.batch + 1) as base_url:
        rows = make_rows(options.dataset_size, options.seed, prompt=CATCH_PROMPT)
        factory = environment_factory(CatchTools, base_url, rows=options.rows, rollouts=options.batch)
        train(options, factory=factory, rewards=catch_reward, rows=rows)


if __name__ == "__main__":
    main()
