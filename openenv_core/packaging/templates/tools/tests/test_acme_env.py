"""What the environment promises, and its tools over a real socket."""

from openenv_core import conformance
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.tools import ListToolsAction, ListToolsObservation, tools_of

from acme_env import AcmeEnv
from acme_env_server import AcmeEnvironment, spec

TestPromises = conformance.suite(spec)


def test_each_function_is_a_tool_with_a_schema() -> None:
    for found in tools_of(AcmeEnvironment).values():
        assert found.input_schema["type"] == "object"


def test_the_tools_are_listed_over_a_socket() -> None:
    with ProcessRuntime("acme_env") as server, AcmeEnv(base_url=server.base_url) as env:
        env.reset()
        listed = env.step(ListToolsAction()).observation
    assert isinstance(listed, ListToolsObservation)
    assert [each.name for each in listed.tools] == list(tools_of(AcmeEnvironment))
