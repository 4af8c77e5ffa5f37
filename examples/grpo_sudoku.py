# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "datasets", "openenv-core", "openenv-textarena", "openenv-textarena-server", "torch", "trl>=1.8",
# ]
# ///
"""Train a model to play Sudoku, a game of TextArena, with five rewards: empty cells, right moves, no repetitions,
progress, the solution.

    python examples/grpo_sudoku.py --hints easy
    python examples/grpo_sudoku.py --cpu --model tiny --max-steps 2
"""

from _training import parser, server, train

from openenv_core.training import environment_factory, make_rows
from textarena_env.tools import (
    SUDOKU_PROMPT,
    SudokuTools,
    sudoku_correct_reward,
    sudoku_empty_cell_reward,
    sudoku_progress_reward,
    sudoku_repetition_reward,
    sudoku_valid_moves_reward,
)

REWARDS = [
    sudoku_empty_cell_reward,
    sudoku_valid_moves_reward,
    sudoku_repetition_reward,
    sudoku_progress_reward,
    sudoku_correct_reward,
]


def main() -> None:
    """Run it."""
    made = parser(__doc__, env_name="textarena_env")
    made.set_defaults(max_completion_length=8192)
    made.add_argument("--hints", choices=["easy", "medium", "hard"], default="easy", help="how much is told")
    made.add_argument("--max-moves", type=int, default=100, help="a game ends after so many moves")
    options = made.parse_args()
    game = {"TEXTARENA_ENV_ID": "Sudoku-v0"}
    with server(options, "textarena_env", sessions=options.batch + 1, variables=game) as base_url:
        rows = make_rows(options.dataset_size, options.seed, prompt=SUDOKU_PROMPT)
        factory = environment_factory(
            SudokuTools, base_url, hints=options.hints, max_moves=options.max_moves, rollouts=options.batch
        )
        train(options, factory=factory, rewards=REWARDS, rows=rows)


if __name__ == "__main__":
    main()
