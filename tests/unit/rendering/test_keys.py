"""Keys for actions."""

from openenv_core.rendering import Choice, Question, labelled_choices


def keys(*choices: Choice) -> list[str]:
    return [labelled.key for labelled in labelled_choices([Question("move", "choice", choices)])]


def test_directions_have_the_arrows_and_doing_nothing_has_the_space_bar() -> None:
    assert keys(Choice(0, "LEFT"), Choice(1, "STAY"), Choice(2, "RIGHT")) == ["ArrowLeft", " ", "ArrowRight"]
    assert keys(Choice(0, "push left"), Choice(1, "push right")) == ["ArrowLeft", "ArrowRight"]


def test_numbers_have_their_digit_and_names_their_letter() -> None:
    assert keys(Choice(0), Choice(3), Choice(11)) == ["0", "3", ""]
    assert keys(Choice("hit"), Choice("stick")) == ["h", "s"]


def test_no_key_means_two_things() -> None:
    assert keys(Choice("stay left"), Choice("far left"), Choice("fold")) == ["s", "", ""]


def test_only_a_single_question_with_few_choices_has_buttons() -> None:
    choice = Question("a", "choice", (Choice(1, "one\x1b"),))
    [labelled] = labelled_choices([choice])
    assert (labelled.action, labelled.label) == ({"a": 1}, "one\\x1b")
    assert labelled_choices([choice, choice]) == []
    assert labelled_choices([Question("a", "text")]) == []
    assert labelled_choices([Question("a", "choice", tuple(map(Choice, range(100))))]) == []
