"""The environment by itself, what it promises, and an episode over a real socket."""

from random import Random

from openenv_core import conformance
from openenv_core.runtimes.process import ProcessRuntime

from acme_env import AcmeEnv
from acme_env_server import AcmeEnvironment, spec
from acme_env_server.environment import sample_action

TestPromises = conformance.suite(spec)


def test_a_seed_fixes_the_episode() -> None:
    one, other = AcmeEnvironment(), AcmeEnvironment()
    seen = one.reset(seed=7)
    assert seen == other.reset(seed=7)
    action = sample_action(seen, Random(7))
    assert one.step(action) == other.step(action)
    one.close()
    other.close()


def test_an_episode_over_a_socket() -> None:
    random = Random(7)
    with ProcessRuntime("acme_env") as server, AcmeEnv(base_url=server.base_url) as env:
        result = env.reset(seed=7)
        steps = 0
        while not result.done and steps < 20:
            result = env.step(sample_action(result.observation, random))
            steps += 1
    assert steps > 0
