"""What an agent and a browser say to each other."""

from typing import Literal

from pydantic import Field

from openenv_core.types import Action, Image, Observation, State

__all__ = ["BrowserGymAction", "BrowserGymObservation", "BrowserGymState", "ObservationPart"]

ObservationPart = Literal["axtree", "screenshot", "html", "dom", "boxes"]
"""What can be taken of a page after an action: each costs time, so only what is asked for is taken."""


class BrowserGymAction(Action):
    """Do what ``action_str`` says.

    Attributes:
        action_str: one or more calls in BrowserGym's action language, for example ``click('13')``,
            ``fill('14', 'hello')`` or ``press('14', 'Enter')``. Text around the calls is skipped. It is parsed, never
            evaluated.
    """

    action_str: str


class BrowserGymObservation(Observation):
    """The page as the agent sees it, and what became of the last action.

    Attributes:
        text: the page for a language model: ``axtree_txt`` where it was taken, else ``pruned_html``, else ``dom_txt``.
        url: the address of the page that is active.
        screenshot: the visible part of the page. ``numpy.array(observation.screenshot)`` is height x width x 3, uint8;
            ``.png`` are the file's bytes, ``.to_pil()`` is a Pillow picture. ``None`` where it was not asked for.
        goal: what is to be done.
        axtree_txt: the accessibility tree, one node a line; ``[13]`` is the id by which actions name an element.
        pruned_html: the page's HTML without scripts, styles and elements that only hold others.
        dom_txt: the page's HTML, whole.
        boxes: where the elements are that can be seen: by id the left edge, the top, width and height, in pixels of the
            picture.
        focused_bid: id of the element that has the keyboard's focus; ``""`` where it has none.
        error: why the last action failed; ``""`` where it did not.
        last_action_error: whether the last action failed. The page may have changed all the same.
        raw_reward: what the page itself paid at the end, from -1 to 1, before it is rounded to ``reward``; ``None``
            while the page has not ended the task.
        end_reason: why the episode is over; ``""`` while it goes on.
    """

    text: str = ""
    url: str = ""
    screenshot: Image | None = None
    goal: str = ""
    axtree_txt: str = ""
    pruned_html: str = ""
    dom_txt: str = ""
    boxes: dict[str, tuple[float, float, float, float]] = Field(default_factory=dict)
    focused_bid: str = ""
    error: str = ""
    last_action_error: bool = False
    raw_reward: float | None = None
    end_reason: str = ""


class BrowserGymState(State):
    """Which task is worked on, and how far it went.

    Attributes:
        benchmark: the collection that the task is from.
        task_name: the task's name, for example ``click-test``.
        task_id: benchmark and name, for example ``miniwob.click-test``; ``None`` before the first reset.
        goal: what is to be done.
        current_url: the address of the page that is active.
        max_steps: the episode is truncated after so many steps; ``None`` for no limit.
        cum_reward: what the episode's steps have paid so far.
        messages: what the agent said with ``send_msg_to_user`` and ``report_infeasible``.
    """

    benchmark: str = ""
    task_name: str = ""
    task_id: str | None = None
    goal: str = ""
    current_url: str = ""
    max_steps: int | None = None
    cum_reward: float = 0.0
    messages: list[str] = Field(default_factory=list)
