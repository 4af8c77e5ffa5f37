"""Sudoku's board: reading it from what the game says, writing it for a model, what fits where."""

import re

__all__ = ["Board", "candidates", "draw", "read_board"]

Board = list[list[int]]
"""Nine rows of nine numbers; 0 is an empty cell."""

_ROW = re.compile(r"^R\d +([\d. |]+)$", re.MULTILINE)


def read_board(text: str) -> Board | None:
    """The last board in a text; ``None`` where there is none."""
    board = [[0 if cell == "." else int(cell) for cell in re.findall(r"[\d.]", row)] for row in _ROW.findall(text)[-9:]]
    return board if len(board) == 9 and all(len(row) == 9 for row in board) else None


def draw(board: Board) -> str:
    """The board as text, one row a line."""
    return "\n".join(f"R{number} {' '.join(str(cell or '.') for cell in row)}" for number, row in enumerate(board, 1))


def candidates(board: Board) -> list[tuple[int, int, list[int]]]:
    """For each empty cell its row, its column (both from 1) and the numbers that no other cell forbids."""
    return [
        (row + 1, column + 1, sorted(set(range(1, 10)) - _seen_from(board, row, column)))
        for row in range(9)
        for column in range(9)
        if board[row][column] == 0
    ]


def _seen_from(board: Board, row: int, column: int) -> set[int]:
    top, left = row - row % 3, column - column % 3
    box = {board[r][c] for r in range(top, top + 3) for c in range(left, left + 3)}
    return {*board[row], *(cells[column] for cells in board), *box}
