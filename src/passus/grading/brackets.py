"""Splitting of LaTeX text at separators and relation signs outside brackets, and repair of unbalanced braces."""

import re

SEPARATOR = re.compile(r"\\begin(?![A-Za-z])|\\end(?![A-Za-z])|\\\\|\\[{}|]|\\[A-Za-z]+|[()\[\]{},;:|]")
RELATION = re.compile(r"\\(?:le|ge|ne|approx|in)(?![A-Za-z])|<=|>=|!=|[<>=]|\\\\|\\[{}|]|\\[A-Za-z]+|[()\[\]{}]")
RELATION_SIGNS = frozenset({"=", "<", ">", "\\le", "\\ge", "\\ne", "\\approx", "\\in"})
ASCII_RELATIONS = {"<=": "\\le", ">=": "\\ge", "!=": "\\ne"}
BRACE = re.compile(r"\\.|[{}]|[^{}\\]+|\\", re.S)
DEPTH_CHANGE = {
    "(": 1, "[": 1, "{": 1, "\\{": 1, "\\begin": 1, "\\langle": 1,
    ")": -1, "]": -1, "}": -1, "\\}": -1, "\\end": -1, "\\rangle": -1,
}  # fmt: skip
MAX_ADDED_BRACES = 20


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """Returns the non-empty pieces between separators that stand outside all brackets."""
    pieces, depth, start = [], 0, 0
    for match in SEPARATOR.finditer(text):
        depth += DEPTH_CHANGE.get(match[0], 0)
        if match[0] == separator and depth <= 0:
            pieces.append(text[start : match.start()])
            start = match.end()
    pieces.append(text[start:])
    return [piece for piece in (piece.strip() for piece in pieces) if piece] if len(pieces) > 1 else pieces


def split_relations(text: str) -> tuple[list[str], list[str]]:
    """Returns the pieces and the relation signs between them that stand outside all brackets."""
    pieces, signs, depth, start = [], [], 0, 0
    for match in RELATION.finditer(text):
        token = ASCII_RELATIONS.get(match[0], match[0])
        depth += DEPTH_CHANGE.get(token, 0)
        if depth <= 0 and token in RELATION_SIGNS:
            pieces.append(text[start : match.start()])
            signs.append(token)
            start = match.end()
    return [*pieces, text[start:]], signs


def is_balanced(text: str) -> bool:
    """Returns whether every bracket has its partner inside the text: not so in the `1)+(2` of (1)+(2)."""
    depth = 0
    for match in SEPARATOR.finditer(text):
        depth += DEPTH_CHANGE.get(match[0], 0)
        if depth < 0:
            return False
    return depth == 0


def strip_outer_braces(text: str) -> str:
    while len(text) > 1 and text[0] == "{" and text[-1] == "}" and text[-2] != "\\" and is_balanced(text[1:-1]):
        text = text[1:-1].strip()
    return text


def balance_braces(text: str) -> str:
    """Closes the braces that are left open, and removes closing braces without a partner."""
    depth, kept = 0, []
    for match in BRACE.finditer(text):
        piece = match[0]
        depth += (piece == "{") - (piece == "}")
        if depth < 0:
            depth = 0
            continue
        kept.append(piece)
    return "".join(kept) + "}" * min(depth, MAX_ADDED_BRACES)
