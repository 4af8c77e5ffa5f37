"""The environment by itself, what it promises, and a game over a real socket."""

from openenv_core import conformance
from openenv_core.runtimes.process import ProcessRuntime

from acme_env import AcmeAction, AcmeEnv
from acme_env_server import AcmeEnvironment, spec

TestPromises = conformance.suite(spec)


def test_a_seed_fixes_the_number() -> None:
    one, other = AcmeEnvironment(), AcmeEnvironment()
    one.reset(seed=7)
    other.reset(seed=7)
    for number in (50, 25, 75):
        action = AcmeAction(number=number)
        assert one.step(action) == other.step(action)


def test_halving_finds_the_number_over_a_socket() -> None:
    with ProcessRuntime("acme_env") as server, AcmeEnv(base_url=server.base_url) as env:
        low, high = 1, 1000
        result = env.reset(seed=7, top=high)
        while not result.done:
            guess = (low + high) // 2
            result = env.step(AcmeAction(number=guess))
            if result.observation.hint == "higher":
                low = guess + 1
            else:
                high = guess - 1
    assert (result.reward, result.observation.success) == (1.0, True)
