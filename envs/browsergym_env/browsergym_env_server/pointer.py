"""The mouse."""

from typing import TYPE_CHECKING, Literal

from browsergym_env_server.workspace import Workspace

if TYPE_CHECKING:
    from playwright.async_api import Mouse

__all__ = ["Button", "Pointer"]

Button = Literal["left", "right", "middle"]


class Pointer:
    """The mouse of an episode, on the page in front. Places and distances are in CSS pixels of the page.

    Attributes:
        is_placed: it has been put somewhere; until then it is in the upper left corner, and no page knows of it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.is_placed = False

    async def move(self, x: float, y: float) -> None:
        mouse, scale = await self._at_hand()
        await mouse.move(x * scale, y * scale)

    async def click(self, x: float, y: float, button: Button, *, times: int = 1) -> None:
        mouse, scale = await self._at_hand()
        for count in range(1, times + 1):
            await mouse.click(x * scale, y * scale, button=button, click_count=count)

    async def press(self, button: Button = "left") -> None:
        """Hold a button down where the pointer is."""
        mouse, _ = await self._at_hand()
        await mouse.down(button=button)

    async def release(self, button: Button = "left") -> None:
        mouse, _ = await self._at_hand()
        await mouse.up(button=button)

    async def wheel(self, right: float, down: float) -> None:
        """Turn the wheel over what is under the pointer."""
        if not self.is_placed:
            await self.move(0, 0)
        mouse, _ = await self._at_hand()
        await mouse.wheel(right, down)

    async def _at_hand(self) -> "tuple[Mouse, float]":
        tab = await self._workspace.tab()
        self.is_placed = True
        return tab.page.mouse, tab.pointer_scale
