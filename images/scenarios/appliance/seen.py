"""Prints what a terminal of 80 x 24 shows, as soon as it shows what is waited for: seen.py PATTERN <LINE.

PATTERN is a regular expression; ^ and $ are the ends of a row. LINE is what was written to the serial line, from the beginning on, and goes on
(`tail -f`). Exit status: 0 it is shown, 1 the line ended before.
"""

import os
import re
import select
import sys

import pyte

# A frame is one write: the rest of it comes without such a gap.
GAP_S = 0.15


def shown(screen):
    """What the terminal shows, row below row."""
    return "\n".join(row.rstrip() for row in screen.display)


def main(pattern):
    screen = pyte.Screen(80, 24)
    stream = pyte.ByteStream(screen)
    line = sys.stdin.fileno()
    is_there = False
    while True:
        if is_there and not select.select([line], [], [], GAP_S)[0]:
            break
        piece = os.read(line, 65536)
        if not piece:
            break
        stream.feed(piece)
        is_there = re.search(pattern, shown(screen), re.MULTILINE) is not None
    print(shown(screen))
    return 0 if is_there else 1


sys.exit(main(sys.argv[1]))
