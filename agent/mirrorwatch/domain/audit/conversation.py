"""Puts the questions of all lanes together, round by round."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from .facts import Found, Question, Talk

__all__ = ["converse"]

T = TypeVar("T")


def converse(
    talks: Sequence[Talk[T]],
    answer: Callable[[Collection[Question]], Mapping[Question, Found]],
) -> list[T]:
    """Have all talks come to their ends, side by side.

    Parameters
    ----------
    talks
        What is worked out.
    answer
        Answers each of the questions that are open at the same time. So what
        is asked of a cluster grows with the rounds, not with the lanes.

    Returns
    -------
    list
        What came of each talk, in their order.
    """
    results: dict[int, T] = {}
    open_: dict[int, Question] = {}

    def go_on(number: int, found: Found | None) -> None:
        try:
            # A generator that has not begun is sent `None`.
            question = talks[number].send(found)  # type: ignore[arg-type]
        except StopIteration as e:
            open_.pop(number, None)
            results[number] = e.value
        else:
            open_[number] = question

    for number in range(len(talks)):
        go_on(number, None)
    while open_:
        answers = answer(set(open_.values()))
        for number, question in list(open_.items()):
            go_on(number, answers[question])
    return [results[number] for number in range(len(talks))]
