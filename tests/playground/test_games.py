"""People play, to the end."""

import re

from playwright.sync_api import Browser, Page, expect

from openenv_core.runtimes.process import ProcessRuntime
from textarena_env_server.players import WordleSolver

from .visiting import keep, start, step_by_text, visit

_MARKS = {"tone-right": "G", "tone-near": "Y", "tone-wrong": "X"}


def last_guess(page: Page) -> tuple[str, str]:
    """The last row of coloured tiles, and its marks."""
    rows = page.locator(".grid.spaced").first.locator(".row:has(.marked)").all()
    cells = rows[-1].locator(".cell").all()
    tones = [
        next(mark for tone, mark in _MARKS.items() if tone in (cell.get_attribute("class") or "")) for cell in cells
    ]
    return "".join(cell.locator(".sign").inner_text() for cell in cells).lower(), "".join(tones)


def test_wordle_by_the_keyboard_alone(browser: Browser, wordle: ProcessRuntime) -> None:
    solver = WordleSolver()
    with visit(browser, wordle.base_url) as page:
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.get_by_label("Seed", exact=True).focus()
        page.keyboard.type("3")
        page.keyboard.press("Enter")
        message = page.get_by_label("message", exact=True)
        expect(message).to_be_focused()
        for number in range(1, 7):
            guess = solver.guess()
            page.keyboard.type(guess)
            if number == 2:
                expect(page.locator(".cell.typed")).to_have_count(5)
                keep(page, "wordle-typing")
            page.keyboard.press("Enter")
            expect(page.locator(".history li")).to_have_count(number + 1)
            assert last_guess(page)[0] == guess
            solver.learn(*last_guess(page))
            if page.locator(".ending").count():
                break
        expect(page.locator(".ending-title")).to_have_text("Solved!")
        expect(page.locator(".score")).to_contain_text("Return1")
        expect(page.locator("#again")).to_be_focused()
        keep(page, "wordle-solved")
        page.keyboard.press("Enter")
        expect(page.locator(".stage-title")).to_have_text("Wordle-v0 · seed 4")


def test_a_move_that_the_game_refuses(browser: Browser, wordle: ProcessRuntime) -> None:
    with visit(browser, wordle.base_url) as page:
        start(page, 3)
        step_by_text(page, "zzzzz")
        expect(page.locator(".screen .tone-notice")).to_contain_text("not an English word")
        keep(page, "wordle-refused")


def test_wordle_on_a_phone_by_its_letters(browser: Browser, wordle: ProcessRuntime) -> None:
    with visit(
        browser, wordle.base_url, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    ) as page:
        start(page, 3)
        step_by_text(page, "slate")
        for letter in "crane":
            page.locator(".grid.keyboard").get_by_role("button", name=re.compile(f"^{letter}", re.I)).tap()
        expect(page.get_by_label("message", exact=True)).to_have_value("crane")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        keep(page, "wordle-phone", full=True)


def catch_key(page: Page) -> str:
    """The key that moves the paddle towards the ball."""
    rows = page.locator(".grid .row").all()
    places = {
        tone: next(
            (
                row.locator(".cell").evaluate_all(f"cells => cells.findIndex(c => c.classList.contains('{tone}'))")
                for row in rows
                if row.locator(f".{tone}").count()
            ),
            -1,
        )
        for tone in ("tone-own", "tone-other")
    }
    ball, paddle = places["tone-other"], places["tone-own"]
    return "ArrowLeft" if ball < paddle else "ArrowRight" if ball > paddle else " "


def test_catch_by_the_arrow_keys(browser: Browser, openspiel: ProcessRuntime) -> None:
    with visit(browser, openspiel.base_url) as page:
        start(page, 2)
        for number in range(1, 10):
            page.keyboard.press(catch_key(page))
            expect(page.locator(".history li")).to_have_count(number + 1)
            if number == 4:
                keep(page, "catch")
        expect(page.locator(".ending-title")).to_have_text("Solved!")
        expect(page.locator(".ending")).to_contain_text("9 steps, return 1.")
        keep(page, "catch-solved")
        page.locator(".history button").nth(3).click()
        expect(page.locator(".banner.past")).to_contain_text("Step 3")
        keep(page, "catch-past")
        page.get_by_role("button", name="Back to now").click()
        expect(page.locator(".ending")).to_be_visible()


def test_tic_tac_toe_by_clicking_its_fields(browser: Browser, openspiel: ProcessRuntime) -> None:
    with visit(browser, openspiel.base_url) as page:
        page.locator(".reset summary").click()
        page.locator(".reset").get_by_label("game name").fill("tic_tac_toe")
        page.locator(".reset").get_by_label("opponent policy").select_option(label="first")
        start(page, 1)
        expect(page.locator(".stage-title")).to_have_text("tic_tac_toe · seed 1")
        for field in "482":
            page.locator(".screen .grid").get_by_role("button", name=field, exact=True).click()
            page.wait_for_selector(".screen[aria-busy=false]")
            keep(page, "tic-tac-toe")
            if page.locator(".ending").count():
                break
        expect(page.locator(".history .what").nth(1)).to_have_text("x(1,1)")


def test_an_option_that_is_not_offered_is_told(browser: Browser, openspiel: ProcessRuntime) -> None:
    with visit(browser, openspiel.base_url) as page:
        start(page, 1)
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".history li")).to_have_count(2)
        page.locator(".reset summary").click()
        page.locator(".reset").get_by_label("game name").fill("chess_boxing")
        page.get_by_role("button", name="Restart").click()
        expect(page.locator(".reset")).to_contain_text("chess_boxing")
        expect(page.locator(".history li")).to_have_count(2)
        keep(page, "wrong-option")
        page.locator(".action").first.click()
        expect(page.locator(".ending-title")).to_have_text("This episode is over.")
        page.locator(".reset").get_by_label("game name").fill("catch")
        start(page, 1)
        expect(page.locator(".history li")).to_have_count(1)


def test_echo_in_every_way(browser: Browser, echo: ProcessRuntime) -> None:
    with visit(browser, echo.base_url) as page:
        keep(page, "hero")
        page.get_by_role("button", name="Start playing").click()
        page.wait_for_selector("[data-phase=running]")
        step_by_text(page, "hello")
        expect(page.locator(".screen")).to_contain_text("hello")
        expect(page.locator(".score")).to_contain_text("Return0.5")
        page.get_by_text("Observation as JSON").click()
        expect(page.locator(".json").first).to_contain_text('echoed_message: "hello"')
        page.locator(".panel summary", has_text="State").click()
        expect(page.locator(".json").last).to_contain_text("step_count: 1")
        page.locator(".raw summary").click()
        raw = page.get_by_label("The whole action as JSON")
        raw.fill('{"message": ')
        page.get_by_role("button", name="Send JSON").click()
        expect(page.locator(".raw .field-error")).to_contain_text("This is not JSON")
        raw.fill('{"message": "by hand", "unknown": 1}')
        page.get_by_role("button", name="Send JSON").click()
        expect(page.locator(".controls .notice")).to_contain_text("unknown")
        raw.fill('{"message": "by hand"}')
        page.get_by_role("button", name="Send JSON").click()
        expect(page.locator(".history .what").last).to_have_text("by hand")
        expect(page.locator(".json").last).to_contain_text("step_count: 2")
        keep(page, "echo")


def test_a_web_task_by_its_elements_and_by_its_picture(browser: Browser, browsergym: ProcessRuntime) -> None:
    with visit(browser, browsergym.base_url) as page:
        page.locator(".reset summary").click()
        page.locator(".reset").get_by_label("task name").fill("enter-text")
        start(page, 1)
        wanted = re.search(r'"(\w+)"', page.locator(".screen").inner_text())
        assert wanted is not None
        page.locator(".action.draft").click()
        field = page.get_by_label("action str")
        expect(field).to_be_focused()
        page.keyboard.type(wanted[1])
        keep(page, "browser-draft", full=True)
        page.keyboard.press("Enter")
        expect(page.locator(".history li")).to_have_count(2)
        page.locator(".action", has_text="Submit").click()
        expect(page.locator(".ending-title")).to_have_text("Solved!")
        expect(page.locator(".history .what").last).to_contain_text("button 'Submit'")
        keep(page, "browser-solved", full=True)
        page.locator(".reset").get_by_label("task name").fill("click-test")
        start(page, 1)
        page.locator(".mark").click()
        expect(page.locator(".history .what").last).to_have_text("[13] button 'Click Me!'")
        expect(page.locator(".ending-title")).to_have_text("Solved!")
        page.locator(".reset").get_by_label("boxes").uncheck()
        start(page, 1)
        # MiniWoB's only button of this task is dark grey on white, in the left part of the picture.
        place = page.locator("img.picture").evaluate(BUTTON_IN_PICTURE)
        page.locator("img.picture").click(position=place)
        expect(page.locator(".history .what").last).to_contain_text("mouse_click(")
        expect(page.locator(".ending-title")).to_have_text("Solved!")


BUTTON_IN_PICTURE = """image => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const {data, width, height} = context.getImageData(0, 0, canvas.width, canvas.height);
  const found = [];
  for (let y = Math.round(height * 0.25); y < height * 0.95; y += 1)
    for (let x = 0; x < width * 0.4; x += 1) {
      const at = 4 * (y * width + x);
      if (data[at] === 239 && data[at + 1] === 239 && data[at + 2] === 239) found.push([x, y]);
    }
  const [x, y] = found[Math.floor(found.length / 2)];
  return {x: (x + 0.5) * image.clientWidth / width, y: (y + 0.5) * image.clientHeight / height};
}"""
"""Where a button's grey (#efefef) is in the picture, in the page's own pixels."""
