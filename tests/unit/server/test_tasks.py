from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from openenv_core.environment import Environment
from openenv_core.types import Action, Observation, State
from tests.support.awkward import Awkward
from tests.support.serving import Served, serving


class Library(Environment[Action, Observation, State]):
    """Offers tasks in two splits."""

    concurrency_safe = True
    tasks = {"train": ["a", "b", "c"], "test": ["z"]}

    def reset(self) -> Observation:
        return Observation()

    def step(self, action: Action) -> Observation:
        return Observation()

    def list_splits(self) -> list[Any]:
        return ["train", "test", "extra", {"name": "own", "type": "validation"}]

    def list_tasks(self, split: str) -> list[str]:
        return self.tasks[split]

    def num_tasks(self, split: str) -> int:
        return len(self.tasks[split])

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return {"id": self.tasks[split][index]}

    def get_task_range(self, split: str, start: int | None, stop: int | None) -> list[str]:
        return self.tasks[split][start:stop]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(Library, env_name="Library") as found:
        yield found


@pytest.fixture(scope="module")
def caller(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.base_url, trust_env=False, timeout=15.0) as found:
        yield found


def test_the_environment_has_a_name(caller: httpx.Client) -> None:
    assert caller.get("/list_environments").json() == ["Library"]


def test_splits_have_a_kind(caller: httpx.Client) -> None:
    assert caller.get("/library/splits").json() == [
        {"name": "train", "type": "train"},
        {"name": "test", "type": "test"},
        {"name": "extra", "type": "validation"},
        {"name": "own", "type": "validation"},
    ]


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        ("tasks", {"split": "train"}, {"tasks": ["a", "b", "c"], "env_name": "Library"}),
        ("num_tasks", {"split": "train"}, {"num_tasks": 3}),
        ("task", {"split": "train", "index": 1}, {"task": {"id": "b"}}),
        ("task_range", {"split": "train", "start": 1}, {"tasks": ["b", "c"]}),
        ("task_range", {"split": "train", "stop": 1}, {"tasks": ["a"]}),
        ("task_range", {"split": "train"}, {"tasks": ["a", "b", "c"]}),
    ],
)
def test_tasks(caller: httpx.Client, path: str, body: dict[str, Any], answer: Any) -> None:
    assert caller.post(f"/Library/{path}", json=body).json() == answer


def test_an_index_that_does_not_exist(caller: httpx.Client) -> None:
    response = caller.post("/library/task", json={"split": "train", "index": 9})
    assert (response.status_code, response.json()) == (400, {"detail": "Invalid task index"})


def test_another_environment_s_name(caller: httpx.Client) -> None:
    assert caller.get("/other/splits").status_code == 404


def test_a_field_that_does_not_exist(caller: httpx.Client) -> None:
    assert caller.post("/library/tasks", json={"split": "train", "sede": 1}).status_code == 422


def test_an_error_of_the_environment_is_typed_and_the_next_question_is_answered(caller: httpx.Client) -> None:
    response = caller.post("/library/tasks", json={"split": "nowhere"})
    assert response.status_code == 500
    assert response.json()["code"] == "EXECUTION_ERROR"
    assert caller.post("/library/num_tasks", json={"split": "test"}).json() == {"num_tasks": 1}


def test_an_environment_without_tasks_says_so() -> None:
    with serving(Awkward, env_name="awkward") as served:
        with httpx.Client(base_url=served.base_url, trust_env=False, timeout=15.0) as caller:
            response = caller.get("/awkward/splits")
            assert (response.status_code, response.json()) == (
                501,
                {"detail": "list_splits is not supported for this environment"},
            )
        assert served.active == 0
