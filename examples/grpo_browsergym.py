# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "datasets", "openenv-core[images]", "openenv-browsergym-env", "openenv-browsergym-env-server", "torch",
#     "trl>=1.8",
# ]
# ///
"""Train a model to do tasks in a web browser, from the tree of the page or, with `--vision`, from pictures of it.

python examples/grpo_browsergym.py --task click-button --task login-user
python examples/grpo_browsergym.py --vision --model Qwen/Qwen3-VL-2B-Instruct
python examples/grpo_browsergym.py --cpu --model tiny --max-steps 2

The browser is installed by `openenv install-browser`.
"""

from _training import parser, server, train

from browsergym_env.tools import (
    BROWSER_PROMPT,
    BrowserTextTools,
    BrowserTools,
    browser_invalid_reward,
    browser_reward,
    browser_speed_reward,
)
from openenv_core.training import environment_factory, make_rows

REWARDS = [browser_reward, browser_speed_reward, browser_invalid_reward]


def main() -> None:
    """Run it."""
    made = parser(__doc__, env_name="browsergym_env")
    made.add_argument("--task", action="append", metavar="NAME", help="a task of MiniWoB; repeatable")
    made.add_argument("--vision", action="store_true", help="show pictures; the model must be one that sees")
    made.add_argument("--episode-steps", type=int, default=10, help="an episode is truncated after so many actions")
    made.add_argument("--picture-size", type=int, default=512, help="largest width and height of a picture; 0: any")
    options = made.parse_args()
    tools = BrowserTools if options.vision else BrowserTextTools
    arguments = {"picture_size": options.picture_size} if options.vision else {}
    tasks = options.task or ["click-test"]
    with server(options, "browsergym_env", sessions=options.batch + 1) as base_url:
        rows = make_rows(options.dataset_size, options.seed, prompt=BROWSER_PROMPT, options={"task_name": tasks})
        factory = environment_factory(
            tools, base_url, rollouts=options.batch, max_steps=options.episode_steps, **arguments
        )
        train(options, factory=factory, rewards=REWARDS, rows=rows)


if __name__ == "__main__":
    main()
