"""Where the checkout and its tests stand."""

from pathlib import Path

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
