"""Runs every step in a browser and says which hold.

pip install playwright
npm pack axe-core && tar xzf axe-core-*.tgz
PYTHONPATH=benchmarks python -m browser --axe package/axe.min.js
"""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from browser import steps
from browser.served import served

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
STEPS: tuple[Callable[[Page, str], None], ...] = (
    steps.ask_and_wait,
    steps.slide_a_limit,
    steps.why_not,
    steps.share_a_link,
    steps.download,
    steps.wrong_input,
    steps.form_and_text,
    steps.several_workloads,
    steps.enter_at_once,
    steps.cancel,
    steps.no_plan,
    steps.keyboard_alone,
    steps.narrow,
)


def main() -> None:
    """One line a step; ends with 1 where one failed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chromium", default="/usr/bin/chromium", help="The browser's program.")
    options.add_argument("--axe", type=Path, help="axe.min.js; without it accessibility is not examined.")
    options.add_argument("--only", default="", help="Steps whose name holds this.")
    chosen = options.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chosen.chromium, args=[*FLAGS])
        held = [*_walked(browser, chosen.only, chosen.axe)]
        browser.close()
    sys.exit(0 if all(held) else 1)


def _walked(browser: Browser, only: str, axe: Path | None) -> Iterator[bool]:
    with served() as base:
        for step in STEPS:
            if only in step.__name__:
                yield _holds(browser, step, base)
        if only in "too_many_watch":
            yield _holds(browser, steps.too_many_watch, base, refused=True)
        if axe is not None and only in "accessible":
            script = axe.read_text(encoding="utf-8")
            # the page's own policy refuses scripts from elsewhere, so the examiner stands outside of it
            yield _holds(browser, lambda page, base: steps.accessible(page, base, script), base, "accessible")
    if only in "queue_full":
        with served(workers=1, max_waiting=1) as base:
            yield _holds(browser, steps.queue_full, base, refused=True)


def _holds(
    browser: Browser, step: Callable[[Page, str], None], base: str, name: str = "", *, refused: bool = False
) -> bool:
    """Whether a step holds, with nothing on the console but what is refused on purpose."""
    with _window(browser) as context:
        page, said = context.new_page(), []
        context.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: said.append(str(error.error)))
        name = name or step.__name__
        try:
            step(page, base)
            faults = [line for line in said if not (refused and "429" in line)]
            assert not faults, f"on the console: {faults}"
        except Exception:  # noqa: BLE001 (whatever it is, the step fails and the next one is run)
            sys.stdout.write(f"FAILS {name}\n{traceback.format_exc()}\n")
            return False
    sys.stdout.write(f"holds {name}\n")
    return True


@contextmanager
def _window(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    try:
        yield context
    finally:
        context.close()


main()
