# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A minimal SVG writer and the colours that all pictures share."""

from xml.sax.saxutils import escape

SIGN, EXPONENT, MANTISSA = "#f6c99f", "#b5d3ee", "#c3e3b4"
# Four parts of one thing: quarters of a tile, groups of a matrix.
PARTS = ["#b5d3ee", "#f6c99f", "#c3e3b4", "#dcc8ea"]
PADDING, PLAIN, INK, FAINT = "#e6e6e6", "#ffffff", "#1f2430", "#6b7280"

SANS = "'DejaVu Sans', Verdana, Helvetica, sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Canvas:
    """Collects shapes; y grows downwards, text is placed by its baseline."""

    def __init__(self, width, height, title):
        self.size = width, height
        self.title = title
        self.items = []

    def rect(self, x, y, width, height, fill=PLAIN, stroke=INK, line=1, radius=0):
        rounded = f' rx="{radius}"' if radius else ""
        self.items.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
            f'{rounded} fill="{fill}" stroke="{stroke}" stroke-width="{_n(line)}"/>'
        )

    def text(self, x, y, text, size=14, anchor="start", mono=False, bold=False, fill=INK):
        weight = ' font-weight="bold"' if bold else ""
        self.items.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-family="{MONO if mono else SANS}"'
            f' font-size="{_n(size)}" text-anchor="{anchor}"{weight} fill="{fill}"'
            f' xml:space="preserve">{escape(text)}</text>'
        )

    def cell(self, x, y, width, height, text, fill=PLAIN, size=13, **options):
        """A box with monospaced text in its middle."""
        self.rect(x, y, width, height, fill)
        self.text(x + width / 2, y + height / 2 + size * 0.36, text, size, "middle",
                  mono=True, **options)

    def line(self, x1, y1, x2, y2, stroke=INK, width=1, arrow=False, dashed=False):
        end = ' marker-end="url(#arrow)"' if arrow else ""
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self.items.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
            f' stroke="{stroke}" stroke-width="{_n(width)}"{dashes}{end}/>'
        )

    def circle(self, x, y, radius, fill):
        self.items.append(
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"'
            f' stroke="{INK}"/>'
        )

    def render(self):
        width, height = self.size
        head = [
            (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
             f' viewBox="0 0 {width} {height}" role="img">'),
            f"<title>{escape(self.title)}</title>",
            ('<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5"'
             ' markerWidth="7" markerHeight="7" orient="auto">'
             f'<path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>'),
            # Drawn, because a page behind a transparent picture may be dark.
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]
        return "\n".join([*head, *self.items, "</svg>", ""])


def _n(value):
    """A coordinate as text that does not depend on the platform."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
