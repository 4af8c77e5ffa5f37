"""A browser as tools for a language model: for models that see pictures, and for those that only read."""

from typing import Any, ClassVar, Literal

from browsergym_env.client import BrowserGymEnv
from browsergym_env.models import BrowserGymAction, BrowserGymObservation, ObservationPart
from openenv_core.training import ToolEnvironment, reward_function
from openenv_core.types import StepResult

__all__ = [
    "BROWSER_PROMPT",
    "BrowserTextTools",
    "BrowserTools",
    "browser_invalid_reward",
    "browser_reward",
    "browser_speed_reward",
]

BROWSER_PROMPT = """You control a web browser and have a task to do in it. The page is a tree of elements, one a line; \
the number in brackets at the start of a line, like [13], is the id by which tools name the element. Use the tools \
until the task is done."""

_INVALID_COST = 0.1
_PAUSE_MS = 500

Content = str | list[dict[str, Any]]
"""What a model is shown: text, or content blocks with text and pictures."""


class BrowserTextTools(ToolEnvironment[BrowserGymEnv]):
    """A browser for models that read: pages are shown as accessibility trees. No pictures are taken.

    Args:
        base_url: the server.
        task_name: the task, unless a column ``task_name`` of the dataset names one; ``None``: as the server was
            started.
        max_steps: an episode is truncated after so many actions.
        longest_page: characters of a page that are shown; the rest is cut off.
        **arguments: of the base.
    """

    client_type = BrowserGymEnv
    prompt = BROWSER_PROMPT
    _observe: ClassVar[tuple[ObservationPart, ...]] = ("axtree",)

    def __init__(
        self,
        base_url: str,
        *,
        task_name: str | None = None,
        max_steps: int = 10,
        longest_page: int = 2000,
        **arguments: Any,
    ) -> None:
        super().__init__(base_url, **arguments)
        self._task_name = task_name
        self._max_steps = max_steps
        self._longest_page = longest_page

    def click(self, bid: str) -> Content:
        """Click an element.

        Args:
            bid: Id of the element, for example "13".

        Returns:
            The page afterwards.
        """
        return self._act(f"click({_id(bid)!r})")

    def fill(self, bid: str, text: str) -> Content:
        """Write a text into a field, in place of what is in it.

        Args:
            bid: Id of the field.
            text: The text.

        Returns:
            The page afterwards.
        """
        return self._act(f"fill({_id(bid)!r}, {str(text)!r})")

    def select_option(self, bid: str, option: str) -> Content:
        """Choose an option of a drop-down list.

        Args:
            bid: Id of the list.
            option: The option, as it is shown.

        Returns:
            The page afterwards.
        """
        return self._act(f"select_option({_id(bid)!r}, {str(option)!r})")

    def send_keys(self, text: str) -> Content:
        """Press a key or a combination of keys, or type a text where the focus is.

        Args:
            text: For example "Enter", "Control+a" or "hello".

        Returns:
            The page afterwards.
        """
        return self._act(f"send_keys({str(text)!r})")

    def scroll(self, direction: Literal["up", "down", "left", "right"]) -> Content:
        """Scroll the page.

        Args:
            direction: Where to, "up", "down", "left" or "right".

        Returns:
            The page afterwards.
        """
        return self._act(f"scroll({str(direction)!r})")

    def noop(self) -> Content:
        """Wait for a moment.

        Returns:
            The page afterwards.
        """
        return self._act(f"noop({_PAUSE_MS})")

    def _options(self, columns: dict[str, Any]) -> dict[str, Any]:
        hello = self._client.hello
        told = hello.reset_options if hello is not None else None
        chosen: dict[str, Any] = {} if self._task_name is None else {"task_name": self._task_name}
        if told is not None:
            chosen |= {"observe": list(self._observe), "max_steps": self._max_steps}
        elif columns.get("task_name") is not None:  # a server that does not tell what it knows has this option at least
            chosen["task_name"] = columns["task_name"]
        return {**chosen, **super()._options(columns)}

    def _first_message(self, result: StepResult[Any]) -> Content:
        return self._show(result.observation)

    def _act(self, action: str) -> Content:
        result = self._step(BrowserGymAction(action_str=action))
        if result.observation.last_action_error:
            self.episode.invalid_actions += 1
        if self.episode.steps >= self._max_steps and not self.episode.done:
            self.episode.done = self.episode.truncated = True
        return self._show(result.observation)

    def _show(self, seen: BrowserGymObservation) -> Content:
        return self._text(seen)

    def _text(self, seen: BrowserGymObservation) -> str:
        if self.episode.done:
            return "The task is done." if _is_solved(self) else f"The task is over. {seen.end_reason}".strip()
        parts = [f"Goal: {seen.goal}"] if seen.goal else []
        if seen.last_action_error and seen.error:
            parts.append(f"Error: {seen.error}")
        page = seen.axtree_txt
        if len(page) > self._longest_page:
            page = f"{page[: self._longest_page]}\n(the rest of the page is cut off)"
        parts.append(f"Page:\n{page}")
        return "\n\n".join(parts)


class BrowserTools(BrowserTextTools):
    """A browser for models that see: each answer is a picture of the page and its accessibility tree.

    Args:
        base_url: the server.
        picture_size: pictures that are wider or higher than so many pixels are made smaller; 0: never.
        **arguments: of :class:`BrowserTextTools`.
    """

    shows_pictures = True
    _observe = ("axtree", "screenshot")

    def __init__(self, base_url: str, *, picture_size: int = 512, **arguments: Any) -> None:
        super().__init__(base_url, **arguments)
        self._picture_size = picture_size
        self._shrunk = 1.0

    def click_at(self, x: float, y: float) -> Content:
        """Click a place in the picture.

        Args:
            x: Pixels from the left edge of the picture.
            y: Pixels from its upper edge.

        Returns:
            The page afterwards.
        """
        return self._act(f"mouse_click({x / self._shrunk:.1f}, {y / self._shrunk:.1f})")

    def _show(self, seen: BrowserGymObservation) -> Content:
        blocks: list[dict[str, Any]] = []
        if seen.screenshot is not None:
            block = self._picture(seen.screenshot)
            block["image"], self._shrunk = _fitted(block["image"], self._picture_size)
            blocks.append(block)
        return [*blocks, {"type": "text", "text": self._text(seen)}]


def _id(bid: str) -> str:
    """An id without the brackets in which the page shows it."""
    return str(bid).strip().strip("[]")


def _fitted(picture: Any, size: int) -> tuple[Any, float]:
    """A Pillow picture no larger than ``size`` each way, and by how much it was made smaller."""
    largest = max(picture.size)
    if not size or largest <= size:
        return picture, 1.0
    share = size / largest
    return picture.resize((max(1, round(picture.width * share)), max(1, round(picture.height * share)))), share


def _is_solved(tools: BrowserTextTools) -> bool:
    # Servers of the public protocol do not tell success apart from the reward; both pay only for a solved task.
    return bool(tools.success) or (tools.success is None and sum(tools.episode.rewards) > 0)


@reward_function(BrowserTextTools)
def browser_reward(tools: BrowserTextTools) -> float:
    """1 for a task that was solved; 0 otherwise."""
    return 1.0 if _is_solved(tools) else 0.0


@reward_function(BrowserTextTools)
def browser_speed_reward(tools: BrowserTextTools) -> float:
    """For a task that was solved, the share of the allowed actions that was left; 0 otherwise."""
    return 1.0 - tools.episode.steps / tools._max_steps if _is_solved(tools) else 0.0


@reward_function(BrowserTextTools)
def browser_invalid_reward(tools: BrowserTextTools) -> float:
    """-0.1 for each action that failed."""
    return -_INVALID_COST * tools.episode.invalid_actions
