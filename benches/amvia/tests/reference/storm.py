"""Mean times of a transaction, and chances that it is given up, by the model checker Storm in rational arithmetic.

Run `python3 storm.py > storm.json` in this folder (`pip install stormpy`). The chains are written down here from
docs/amvia-performability.md, and share nothing with the code that is tested. Times are in microseconds.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4] / "stats/tests/reference"))

import storm
import stormpy

# A timeout, which is fixed, and the retransmissions of a request and of a question or a reply.
TIMEOUT, REQUESTS, REPLIES = 1000, 6, 6
# The wire is all that a frame passes; the handler takes longer, and has a limit.
WAY, HANDLER, LIMIT = 10, 30, 4000
REPLY_WAIT = 1_000_000
# Bits of an acknowledgement, of a message with its payload, and of a question.
ACK, MESSAGE, QUESTION = 8 * 32, 8 * (32 + 32), 8 * 72

TRIES = range(REQUESTS + 1)
ALL_WAITS = TIMEOUT * (REQUESTS + 1)


def three_way(p, a, r, asked, q):
    steps = []
    after = lambda state, n: (state, n + 1) if n < REQUESTS else "given up"
    for n in TRIES:
        # The acknowledgement is on the wire while the handler runs, which takes longer.
        steps += [
            (("A", n), "done", (1 - p) * (1 - q) * (1 - r), 2 * WAY + HANDLER),
            (("A", n), "W", (1 - p) * (1 - q) * r * (1 - a), 2 * WAY),
            (("A", n), after("B", n), (1 - p) * (1 - q) * r * a, TIMEOUT),
            (("A", n), after("A", n), p, TIMEOUT),
            (("A", n), "given up", (1 - p) * q, 2 * WAY + LIMIT),
            (("B", n), "done", (1 - p) * (1 - r), 2 * WAY),
            (("B", n), after("B", n), 1 - (1 - p) * (1 - r), TIMEOUT),
        ]
    steps += [("W", ("Q", 1), 1, TIMEOUT)]
    for m in range(1, REPLIES + 1):
        following = ("Q", m + 1) if m < REPLIES else "given up"
        steps += [
            (("Q", m), "done", (1 - asked) * (1 - r), 2 * WAY),
            (("Q", m), following, 1 - (1 - asked) * (1 - r), TIMEOUT),
        ]
    return steps


def two_way(p, r, q, end, is_acknowledged):
    steps = []
    for n in TRIES:
        is_last = n == REQUESTS
        wait = end - n * TIMEOUT if is_last else TIMEOUT
        after = lambda state: "given up" if is_last else (state, n + 1)
        told = 2 * WAY + LIMIT
        steps += [
            (("A", n), "done", (1 - p) * (1 - q) * (1 - r), 2 * WAY + HANDLER),
            (("A", n), after("B"), (1 - p) * (1 - q) * r, wait),
            (("A", n), after("A"), p, wait),
            (("A", n), "given up", (1 - p) * q, told if is_acknowledged else min(end - n * TIMEOUT, told)),
            (("B", n), "done", (1 - p) * (1 - r), 2 * WAY),
            (("B", n), after("B"), 1 - (1 - p) * (1 - r), wait),
        ]
    return steps


def amudp(p, r, q):
    end = max(ALL_WAITS, REPLY_WAIT)
    steps = []
    for n in TRIES:
        begun = n * TIMEOUT
        is_last = n == REQUESTS
        steps += [
            (("A", n), "given up" if is_last else ("A", n + 1), p, end - begun if is_last else TIMEOUT),
            (("A", n), "given up", (1 - p) * q, min(end - begun, 2 * WAY + LIMIT)),
        ]
        # The first request waits on the wire for the acknowledgement of the reply before it.
        replied = begun + (2 * WAY if n == 0 else WAY) + HANDLER
        answers = [(replied + again * TIMEOUT + WAY, 1 - r) for again in range(REPLIES + 1)]
        answers += [(m * TIMEOUT + 2 * WAY, (1 - p) * (1 - r)) for m in range(n + 1, REQUESTS + 1)]
        state, chance, before = ("A", n), (1 - p) * (1 - q), begun
        for place, (time, comes) in enumerate(sorted(answers)):
            following = ("answer", n, place)
            steps += [(state, following, chance, time - before), (following, "done", comes, 0)]
            state, chance, before = following, 1 - comes, time
        steps += [(state, "given up", chance, end - before)]
    return steps


def steps_of(protocol, p, a, r, asked, q):
    match protocol:
        case "amvia":
            return three_way(p, a, r, asked, q)
        case "amvia-riding":
            return two_way(p, r, q, ALL_WAITS, True)
        case "two-way":
            return two_way(p, r, q, max(ALL_WAITS, REPLY_WAIT), False)
        case "amudp":
            return amudp(p, r, q)


def solved(protocol, ber, wire, application):
    lost = lambda bits: 1 - Fraction((1 - ber) ** bits) * (1 - Fraction(wire))
    p, a, asked = lost(MESSAGE), lost(ACK), lost(QUESTION)
    steps = steps_of(protocol, p, a, p, asked, Fraction(application))
    steps = [step for step in steps if step[2] > 0]
    # Storm numbers states; it begins with A(0). Those that nothing leads to are not among them.
    reached, found = {("A", 0)}, [("A", 0)]
    for state in found:
        for source, to, *_ in steps:
            if source == state and to not in reached:
                reached.add(to)
                found.append(to)
    names = [state for state in found if isinstance(state, tuple) or state == "W"] + ["done", "given up"]
    number = {state: place for place, state in enumerate(names)}
    steps = [(number[s], number[t], str(c), time) for s, t, c, time in steps if s in reached]
    passage = storm.passage(protocol, steps)
    return {
        "protocol": protocol,
        "bit_error_rate": ber,
        "wire": wire,
        "application": application,
        "mean_us": passage["mean"],
        "given_up": passage["chances"][-1],
    }


if __name__ == "__main__":
    failures = [(0.0, 0.125, 0.0), (1e-4, 0.0, 0.0), (1e-6, 0.0, 0.0), (1e-4, 0.0625, 0.015625)]
    protocols = ["amvia", "amvia-riding", "two-way", "amudp"]
    cases = [solved(protocol, *each) for protocol in protocols for each in failures]
    print(json.dumps({"stormpy": stormpy.__version__, "cases": cases}, indent=1))
