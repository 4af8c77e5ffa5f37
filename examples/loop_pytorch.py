"""Learn Catch with a policy gradient in plain PyTorch; all sessions step together over one socket.

python examples/loop_pytorch.py --updates 60
"""

import argparse
from typing import Any

import torch
from _training import server

from openenv_core import OpenEnvError
from openspiel_env import OpenSpielAction, OpenSpielEnv

BOARD, ACTIONS = 50, 3


def play(batch: Any, policy: Any, seeds: list[int]) -> tuple[list[Any], list[float | None]]:
    """One episode in each session: the log-probabilities of what was done, and the reward; ``None`` after a fault."""
    results = batch.reset(seeds=seeds, return_exceptions=True)
    chosen: list[Any] = [torch.zeros(()) for _ in seeds]
    rewards: list[float | None] = [None if isinstance(result, OpenEnvError) else 0.0 for result in results]
    running = {i: result.observation for i, result in enumerate(results) if rewards[i] is not None}
    while running:
        boards = torch.tensor([observation.info_state for observation in running.values()])
        choice = torch.distributions.Categorical(logits=policy(boards))
        actions = choice.sample()
        for i, likely in zip(running, choice.log_prob(actions), strict=True):
            chosen[i] = chosen[i] + likely
        moves = {i: OpenSpielAction(action_id=int(a)) for i, a in zip(running, actions, strict=True)}
        stepped = dict(zip(moves, batch.step(moves, return_exceptions=True), strict=True))
        running = {}
        for i, result in stepped.items():
            if isinstance(result, OpenEnvError):
                rewards[i] = None  # the infrastructure failed: this episode says nothing about the policy
            else:
                rewards[i] = (rewards[i] or 0.0) + (result.reward or 0.0)
                if not result.done:
                    running[i] = result.observation
    return chosen, rewards


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env-url", help="a server of openspiel_env; without it one is started")
    parser.add_argument("--sessions", type=int, default=32, help="episodes at a time")
    parser.add_argument("--updates", type=int, default=60, help="number of updates")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    policy = torch.nn.Sequential(torch.nn.Linear(BOARD, 64), torch.nn.ReLU(), torch.nn.Linear(64, ACTIONS))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    means = []
    with (
        server(options, "openspiel_env", sessions=options.sessions) as base_url,
        OpenSpielEnv.batch(base_url, sessions=options.sessions) as batch,
    ):
        for update in range(options.updates):
            start = update * options.sessions
            chosen, rewards = play(batch, policy, list(range(start, start + options.sessions)))
            counted = [i for i, reward in enumerate(rewards) if reward is not None]
            earned = torch.tensor([rewards[i] or 0.0 for i in counted])
            advantage = earned - earned.mean()
            loss = -(torch.stack([chosen[i] for i in counted]) * advantage).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            means.append(float(earned.mean()))
    edge = max(1, len(means) // 5)
    print(
        f"mean reward of the first updates {sum(means[:edge]) / edge:.2f}, of the last {sum(means[-edge:]) / edge:.2f}"
    )


if __name__ == "__main__":
    main()
