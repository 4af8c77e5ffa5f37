"""Play Catch with an algorithm written for Gymnasium: here one that moves towards the ball.

python examples/loop_gymnasium.py --episodes 5
"""

import argparse

import numpy
from _training import server
from gymnasium.spaces import Box, Discrete

from openenv_core.adapters.gymnasium import GymnasiumEnv
from openspiel_env import OpenSpielAction, OpenSpielEnv

ROWS, COLUMNS = 10, 5


def towards_the_ball(board: numpy.ndarray) -> int:
    """0 is left, 1 stay, 2 right."""
    ball = int(board.argmax()) % COLUMNS
    paddle = int(board[-COLUMNS:].argmax())
    return int(numpy.sign(ball - paddle)) + 1


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env-url", help="a server of openspiel_env; without it one is started")
    parser.add_argument("--episodes", type=int, default=5, help="number of episodes")
    options = parser.parse_args()
    with server(options, "openspiel_env", sessions=2) as base_url:
        env = GymnasiumEnv(
            OpenSpielEnv(base_url=base_url),
            action_space=Discrete(3),
            observation_space=Box(0, 1, (ROWS * COLUMNS,), numpy.float32),
            to_action=lambda action: OpenSpielAction(action_id=int(action)),
            from_observation=lambda observation: numpy.array(observation.info_state, numpy.float32),
        )
        rewards = []
        for seed in range(options.episodes):
            board, _ = env.reset(seed=seed)
            terminated = truncated = False
            while not (terminated or truncated):
                board, reward, terminated, truncated, _ = env.step(towards_the_ball(board))
            rewards.append(float(reward))
        env.close()
    print(f"mean reward {sum(rewards) / len(rewards):.2f}")


if __name__ == "__main__":
    main()
