# /// script
# requires-python = ">=3.11"
# dependencies = ["datasets", "openenv-core", "openenv-echo-env", "openenv-echo-env-server", "torch", "trl>=1.8"]
# ///
"""Train a model to say much: the echo environment pays 0.1 for each character.

python examples/grpo_echo.py --cpu --model tiny --max-steps 2
"""

from _training import parser, server, train

from echo_env.tools import ECHO_PROMPT, EchoTools, echo_reward
from openenv_core.training import environment_factory, make_rows


def main() -> None:
    """Run it."""
    options = parser(__doc__, env_name="echo_env").parse_args()
    with server(options, "echo_env", sessions=options.batch + 1) as base_url:
        rows = make_rows(options.dataset_size, options.seed, prompt=ECHO_PROMPT)
        factory = environment_factory(EchoTools, base_url, rollouts=options.batch)
        train(options, factory=factory, rewards=echo_reward, rows=rows)


if __name__ == "__main__":
    main()
