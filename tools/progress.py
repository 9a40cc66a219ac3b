"""Shows how far something long is: one line that is written over on a terminal, plain lines elsewhere."""

import os
import sys
import time


class Progress:
    """now(text) before a piece that takes long, done(text) after each. `total` may become known later. Without a terminal each piece that is
    worth a line gets one, others are summed up every `every` seconds."""

    def __init__(self, what, total=0, every=0.0, out=sys.stderr):
        self.what, self.total, self.every, self.out = what, total, every, out
        self.count, self.begin, self.shown = 0, time.monotonic(), 0.0
        self.terminal = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def left(self):
        """How long the rest will take if it goes on like this, in words."""
        if self.count < 3 or self.total <= self.count:
            return ""
        seconds = (time.monotonic() - self.begin) / self.count * (self.total - self.count)
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"

    def line(self, text):
        return f"[{self.count}/{max(self.total, self.count)}{self.left()}] {text}"

    def now(self, text):
        if self.terminal:
            width = os.get_terminal_size(self.out.fileno()).columns
            self.out.write(f"\r\033[K{self.line(text)[: width - 1]}")
        else:
            self.out.write(self.line(text) + "\n")
        self.out.flush()

    def done(self, text, important=False):
        self.count += 1
        now = time.monotonic()
        if self.terminal:
            width = os.get_terminal_size(self.out.fileno()).columns
            end = "\n" if important else ""
            self.out.write(f"\r\033[K{self.line(text)[: width - 1]}{end}")
        elif important or now - self.shown >= self.every or self.count == self.total:
            self.out.write(self.line(text) + "\n")
            self.shown = now
        self.out.flush()

    def end(self):
        if self.terminal and self.count:
            self.out.write("\r\033[K")
            self.out.flush()
