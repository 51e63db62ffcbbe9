"""Reference values for `first_passage` and `mva`, computed with the model checker Storm in rational arithmetic.

Run `python3 storm.py > storm.json` in this folder (`pip install stormpy`). Storm knows no semi-Markov process; the mean of a passage is
that of a Markov chain whose states are rewarded with their mean times. Networks are Markov chains in continuous time: each
station serves its customers one after the other, for exponential times.
"""

import json
import tempfile
from fractions import Fraction

import stormpy


def check(program, formula):
    with tempfile.NamedTemporaryFile("w", suffix=".prism") as file:
        file.write(program)
        file.flush()
        parsed = stormpy.parse_prism_program(file.name)
    properties = stormpy.parse_properties(formula, parsed)
    model = stormpy.build_model[stormpy.numbers.Rational](parsed, properties)
    result = stormpy.model_checking(model, properties[0])
    return float(Fraction(str(result.get_value(model.initial_states[0]))))


def text(x):
    """A number as PRISM reads it, without loss."""
    x = Fraction(str(x))
    return f"({x.numerator}.0/{x.denominator}.0)"


def chain(steps, rewards):
    states = 1 + max(max(step[0], step[1]) for step in steps)
    lines = ["dtmc", "module chain", f"s : [0..{states - 1}] init 0;"]
    for state in range(states):
        to = [f"{text(chance)}:(s'={to})" for source, to, chance, _ in steps if source == state]
        lines.append(f"[] s={state} -> {' + '.join(to) or 'true'};")
    lines += ["endmodule", 'rewards "r"']
    lines += [f"s={state} : {text(reward)};" for state, reward in rewards.items()]
    return "\n".join([*lines, "endrewards"])


def passage(name, steps):
    sources = {step[0] for step in steps}
    ends = sorted({step[1] for step in steps} - sources)
    means = {
        state: sum(Fraction(str(c)) * Fraction(str(t)) for s, _, c, t in steps if s == state) for state in sources
    }
    is_end = " | ".join(f"s={end}" for end in ends)
    program = chain(steps, means)
    visited = max(sources)
    return {
        "name": name,
        "steps": steps,
        "mean": check(program, f'R{{"r"}}=? [F {is_end}]'),
        "ends": ends,
        "chances": [check(program, f"P=? [F s={end}]") for end in ends],
        "visited": visited,
        "visits": check(chain(steps, {visited: 1}), f'R{{"r"}}=? [F {is_end}]'),
    }


def three_way(request, ack, reply, pull):
    """Request, acknowledgement, reply, with the chances that each is lost: seven requests, then seven waits for a reply.

    States 0 to 6: the target has not got the request; 7 to 13: it has; 14: acknowledged; 15 to 20: asked for the reply;
    21: done; 22 and 23: given up.
    """
    request, ack, reply, pull = (Fraction(str(x)) for x in (request, ack, reply, pull))
    arrives = 1 - request
    steps = []
    wait = lambda n: 1000 * 2**n
    for n in range(7):
        steps += [[n, n + 1 if n < 6 else 22, request, wait(n)]]
        steps += [[n, 21, arrives * (1 - reply), 20], [n, 14, arrives * reply * (1 - ack), 15]]
        steps += [[n, n + 8 if n < 6 else 22, arrives * reply * ack, wait(n)]]
        there = arrives * (1 - reply)
        if n > 0:
            steps += [[n + 7, 21, there, 20], [n + 7, n + 8 if n < 6 else 22, 1 - there, wait(n)]]
    steps += [[14, 15, 1, wait(0)]]
    for m in range(1, 7):
        there = (1 - pull) * (1 - reply)
        steps += [[14 + m, 21, there, 20], [14 + m, 15 + m if m < 6 else 23, 1 - there, wait(m)]]
    # State 7 is never entered: the first request finds nothing at the target.
    return [[a, b, str(c), t] for a, b, c, t in steps]


def network(demands, think, customers):
    stations = len(demands)
    # The last place is who thinks.
    places = stations + 1
    lines = ["ctmc", "module network"]
    for place in range(places):
        first = customers if place == stations else 0
        lines.append(f"q{place} : [0..{customers}] init {first};")
    for place in range(places):
        to = (place + 1) % places
        if place == stations:
            rate = f"q{place}*{text(1 / Fraction(str(think)))}"
        else:
            rate = text(1 / Fraction(str(demands[place])))
        lines.append(f"<> q{place}>0 & q{to}<{customers} -> {rate} : (q{place}'=q{place}-1) & (q{to}'=q{to}+1);")
    lines += ["endmodule"]
    for station in range(stations):
        lines += [f'rewards "q{station}"', f"true : q{station};", "endrewards"]
    lines += ['rewards "x"', f"q0>0 : {text(1 / Fraction(str(demands[0])))};", "endrewards"]
    program = "\n".join(lines)
    return {
        "demands": demands,
        "think": think,
        "customers": customers,
        "throughput": check(program, 'R{"x"}=? [LRA]'),
        "queues": [check(program, f'R{{"q{station}"}}=? [LRA]') for station in range(stations)],
    }


def dense(states):
    """Each state leads to each other."""
    steps = []
    for source in range(states):
        chances = [Fraction(1 + (7 * source + 3 * to) % 11, 80) for to in range(states)]
        rest = 1 - sum(chances)
        steps += [[source, to, str(c), 1 + (source * to) % 5] for to, c in enumerate(chances)]
        steps += [[source, states, str(rest / 3), 2], [source, states + 1, str(rest * 2 / 3), 7]]
    return steps


if __name__ == "__main__":
    print(
        json.dumps(
            {
                "stormpy": stormpy.__version__,
                "passages": [
                    passage("again until it is answered", [[0, 1, "9/10", 1], [0, 0, "1/10", 5]]),
                    passage("there and back", [[0, 1, "1", 3], [1, 0, "999999/1000000", 2], [1, 2, "1/1000000", 4]]),
                    passage("dense", dense(10)),
                    passage("three-way, 10 %", three_way("1/10", "1/12", "1/9", "1/12")),
                    passage("three-way, 0.1 %", three_way("1/1000", "1/1200", "1/900", "1/1200")),
                    passage("three-way, 1e-7", three_way("1e-7", "8e-8", "1.1e-7", "8e-8")),
                ],
                "networks": [
                    network(demands, think, customers)
                    for demands in ([2, 3], [1, 1, 1], [0.4, 2.5, 0.9])
                    for think, customers in ((5, 1), (5, 3), (0.25, 5))
                ],
            }
        )
    )
