"""Boards written as characters."""

from openenv_core.rendering import Cell, Grid, Text
from openenv_core.rendering.boards import coloured_board, game_board


def faces(grid: Grid) -> list[str]:
    return ["".join(cell.text or " " for cell in row) for row in grid.rows]


def test_catch_has_a_paddle_of_ones_own_and_a_ball() -> None:
    legend, board, after = game_board("Move.\n.o...\n.....\n..x..\nDone.", "catch", [0, 1, 2])
    assert (legend, after) == (Text("Move."), Text("Done."))
    assert isinstance(board, Grid)
    assert faces(board) == [".o...", ".....", "..x.."]
    assert (board.rows[0][1].tone, board.rows[2][2].tone, board.rows[0][0].tone) == ("other", "own", "empty")


def test_an_empty_field_of_tic_tac_toe_shows_the_action_that_takes_it() -> None:
    board, _ = game_board("x..\n.o.\n...\nYou are player 0.", "tic_tac_toe", [1, 2, 3, 5, 6, 7, 8])
    assert isinstance(board, Grid)
    assert faces(board) == ["x12", "3o5", "678"]


def test_a_board_is_known_without_the_game_s_name() -> None:
    before, board = game_board("Move.\n.o.\n.x.", "", [0, 1])
    assert before == Text("Move.")
    assert isinstance(board, Grid)
    assert faces(board) == [".o.", ".x."]
    assert game_board("so\nox.", "") == [Text("so\nox.")]


def test_a_field_that_may_not_be_taken_shows_no_number() -> None:
    [board] = game_board("x..\n.o.\n...", "tic_tac_toe", [])
    assert isinstance(board, Grid)
    assert faces(board) == ["x..", ".o.", "..."]


def test_the_second_player_has_the_other_pieces() -> None:
    [board] = game_board("x..\n.o.\n...", "tic_tac_toe", [], seat=1)
    assert isinstance(board, Grid)
    assert (board.rows[0][0].tone, board.rows[1][1].tone) == ("other", "own")


def test_connect_four_numbers_the_columns_that_are_open() -> None:
    [board] = game_board("x..\nx.o", "connect_four", [1, 2])
    assert isinstance(board, Grid)
    assert faces(board) == ["x..", "x.o", " 12"]


def test_tiles_of_several_digits_are_cells() -> None:
    legend, board = game_board("Slide.\n    0    2\n 1024    0", "2048")
    assert legend == Text("Slide.")
    assert board == Grid(((Cell("0", "empty"), Cell("2")), (Cell("1024"), Cell("0", "empty"))))


def test_a_game_that_is_not_known_shows_its_text() -> None:
    assert game_board("...\n\x1b[31mx", "unknown") == [Text("...\n\\x1b[31mx")]
    assert game_board("no board in here", "catch") == [Text("no board in here")]


FROZEN_LAKE = "  (Down)\nSFFF\n\x1b[41mF\x1b[0mHFH\nFFFG\n"


def test_a_coloured_cell_is_where_the_player_is() -> None:
    move, board = coloured_board(FROZEN_LAKE)
    assert move == Text("  (Down)")
    assert isinstance(board, Grid)
    assert faces(board) == ["SFFF", "FHFH", "FFFG"]
    assert board.rows[1][0] == Cell("F", "own", "*")
    assert [cell.tone for cell in (board.rows[1][1], board.rows[2][3], board.rows[0][0])] == ["danger", "goal", "empty"]


def test_a_board_with_walls_is_drawn_close_together() -> None:
    [board] = coloured_board("+---+\n|\x1b[43mR\x1b[0m: |\n|Y|B|\n+---+")
    assert isinstance(board, Grid)
    assert not board.spaced
    assert faces(board) == ["+---+", "|R: |", "|Y|B|", "+---+"]
    assert [cell.text for row in board.rows for cell in row if cell.mark] == ["R"]


def test_only_colours_are_taken_away() -> None:
    assert coloured_board("\x1b[2J+--+\n|\x1b[43m:\x1b[0m|") == [Text("\\x1b[2J+--+\n|:|")]
