"""Draws a solitaire chess board and its lines as text, and in the usual notation."""

from collections.abc import Iterator, Mapping

from pi_appliance.puzzles.solitaire_chess.board import EMPTY, Board, Capture, Solution, Square


def render(board: Board) -> str:
    """Draw BOARD as `parse` reads it, a row a line."""
    return "".join(row + "\n" for row in board.rows)


def notate(board: Board, line: Solution) -> str:
    """Return LINE in long algebraic notation, such as "Rc1xb1 b3xc2"; a pawn has no letter."""
    return " ".join(named(men[capture.start], capture) for men, capture in before_each(board, line))


def render_solution(board: Board, line: Solution) -> str:
    """Return LINE in its notation, and below that the board after each capture."""
    drawn = [notate(board, line) + "\n"]
    for men, (start, end) in before_each(board, line):
        after = {square: piece for square, piece in men.items() if square != start} | {end: men[start]}
        drawn.append("\n" + _draw(board, after))
    return "".join(drawn)


def named(piece: str, capture: Capture) -> str:
    """Return CAPTURE with the letter of the PIECE that makes it."""
    return f"{piece.replace('P', '')}{capture}"


def before_each(board: Board, line: Solution) -> Iterator[tuple[Mapping[Square, str], Capture]]:
    """Yield each capture of LINE with the pieces as they stand before it."""
    men = board.men
    for capture in line:
        yield dict(men), capture
        men[capture.end] = men.pop(capture.start)


def _draw(board: Board, men: Mapping[Square, str]) -> str:
    files = range(len(board.rows[0]))
    ranks = reversed(range(len(board.rows)))
    return "".join("".join(men.get(Square(file, rank), EMPTY) for file in files) + "\n" for rank in ranks)
