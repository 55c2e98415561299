"""What a person does on the page, each step a function of an open page; a step that fails raises."""

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, ViewportSize, expect

PATIENCE_MS = 90_000
SERIOUS = ("serious", "critical")
NARROW = ViewportSize(width=400, height=800)


def ask_and_wait(page: Page, base: str) -> None:
    """A shipped scenario is asked, its progress is shown, and its plan."""
    page.goto(base)
    page.get_by_label("Begin with").select_option("qwen3-32b")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#model")).to_have_value("Qwen/Qwen3-32B")
    page.get_by_role("button", name="Find the cheapest plan").click()
    expect(page.locator(".job .phase")).to_be_visible()
    expect(page.locator(".amount .figure")).to_have_text(re.compile(r"^\$[\d,]+\.\d\d$"), timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="What to rent")).to_be_visible()


def slide_a_limit(page: Page, base: str) -> None:
    """The slider on the demand tells another plan, and that plan can be asked for."""
    _planned(page, base)
    slider = _slider(page)
    before = page.locator(".moved output").first.inner_text()
    slider.focus()
    slider.press("End")
    expect(page.locator(".moved output").first).not_to_have_text(before)
    expect(page.locator(".moved output").first).to_contain_text("more than now")
    first = page.url
    page.get_by_role("button", name="Plan with 10 requests/s").click()
    expect(page.locator(".amount .figure")).to_be_visible(timeout=PATIENCE_MS)
    assert page.url != first
    page.get_by_text("The question as text").click()
    expect(page.locator("#scenario")).to_contain_text("requests_per_second: 10")


def why_not(page: Page, base: str) -> None:
    """A GPU is searched for and clicked, and it is said what the plan on it would cost."""
    _planned(page, base)
    page.get_by_label("Search").fill("l40s")
    expect(page.get_by_role("button", name="h100-sxm", exact=True)).to_be_hidden()
    page.get_by_role("button", name="l40s", exact=True).click()
    expect(page.locator("#why-not-answer .lead")).to_contain_text("l40s", timeout=PATIENCE_MS)


def share_a_link(page: Page, base: str) -> None:
    """The link, opened in a second window, shows the same question."""
    page.goto(base + "/?scenario=two-models")
    text = page.locator("#scenario").input_value()
    page.get_by_role("button", name="Copy a link to this question").click()
    link = page.locator(".said a").get_attribute("href") or ""
    assert "#s=" in link
    second = page.context.new_page()
    second.goto(link)
    expect(second.locator("#scenario")).to_have_value(text)
    expect(second.locator(".sound")).to_be_visible()
    expect(second.locator("#model")).to_have_value("qwen2.5-7b")
    second.close()


def download(page: Page, base: str) -> None:
    """The plan and the sheet of a comparison come as files; the comparison sorts by any column."""
    _planned(page, base)
    with page.expect_download() as coming:
        page.get_by_role("link", name="Plan as JSON").click()
    assert json.loads(Path(coming.value.path()).read_text())["scenario"] == "chat-8b"
    page.get_by_role("button", name="by precision").click()
    expect(page.locator("table.sorted")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="a month").click()
    expect(page.locator("th[aria-sort=ascending]")).to_have_text("a month")
    costs = page.locator("table.sorted tbody td:nth-child(3)").evaluate_all("all => all.map(one => one.dataset.value)")
    numbers = [float(cost) for cost in costs if cost]
    assert len(numbers) > 1
    assert numbers == sorted(numbers)
    with page.expect_download() as coming:
        page.get_by_role("link", name="Sheet (CSV)").click()
    assert Path(coming.value.path()).read_text().startswith("scenario,by,rank,choice")


def wrong_input(page: Page, base: str) -> None:
    """What is wrong is said at its line in the words of the command line, and goes when it is mended."""
    page.goto(base)
    text = page.locator("#scenario")
    sound = text.input_value()
    text.fill(sound.replace("llama-3.1-8b", "llama-3.1-8bb"))
    finding = page.locator("#findings button")
    expect(finding).to_contain_text("scenario:7: workloads[chat].model: unknown model 'llama-3.1-8bb' (did you mean")
    expect(page.locator(".gutter .wrong")).to_have_text("7")
    finding.click()
    assert "model: llama-3.1-8bb" in text.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    text.fill(sound)
    expect(page.locator(".sound")).to_be_visible()
    page.locator("#ttft_p95").fill("soon")
    expect(finding).to_contain_text("expected a number, not 'soon'")


def form_and_text(page: Page, base: str) -> None:
    """What the form says stands in the text, what the text says in the form, and a drawn day in both."""
    page.goto(base)
    page.locator("#ttft_p95").fill("450")
    expect(page.locator("#scenario")).to_have_value(re.compile("ttft_ms: {p95: 450}"))
    page.get_by_label("a drawn day").check()
    page.locator("#peak").fill("7")
    expect(page.locator("#scenario")).to_have_value(re.compile("peak_requests_per_second: 7"))
    day = page.locator("[data-day]")
    box = day.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 10, steps=30)
    page.mouse.up()
    expect(page.locator(".sound")).to_be_visible()
    expect(page.locator("#scenario")).not_to_have_value(re.compile(r"hourly: \[0, 1, 2"))


def several_workloads(page: Page, base: str) -> None:
    """A workload is added, renamed, looked at and taken away again, the text beside it in step."""
    page.goto(base)
    page.get_by_role("button", name="Add a workload like it").click()
    expect(page.locator("#scenario")).to_have_value(re.compile("name: chat-2"))
    expect(page.locator("#workload")).to_have_value("chat-2")
    page.locator("#workload").fill("code")
    page.locator("#model").fill("qwen2.5-7b")
    page.locator("#requests_per_second").fill("2")
    expect(page.locator("#scenario")).to_have_value(
        re.compile("name: code(.|\n)*qwen2.5-7b(.|\n)*requests_per_second: 2")
    )
    page.get_by_label("chat", exact=True).check()
    expect(page.locator("#workload")).to_have_value("chat")
    expect(page.locator("#requests_per_second")).to_have_value("5")
    page.get_by_label("code", exact=True).focus()
    page.keyboard.press("Space")
    expect(page.locator("#model")).to_have_value("qwen2.5-7b")
    expect(page.locator(".sound")).to_be_visible()
    page.get_by_role("button", name="Remove it").click()
    expect(page.locator("#scenario")).not_to_have_value(re.compile("name: code"))
    expect(page.locator("#workload")).to_have_value("chat")


def enter_at_once(page: Page, base: str) -> None:
    """Enter in a field asks with what was just typed there."""
    page.goto(base)
    page.locator("#requests_per_second").fill("6")
    page.locator("#requests_per_second").press("Enter")
    expect(page.locator(".amount .figure")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_text("The question as text").click()
    expect(page.locator("#scenario")).to_contain_text("requests_per_second: 6")


def cancel(page: Page, base: str) -> None:
    """A question under way is cancelled, and can be changed."""
    page.goto(base + "/?scenario=deepseek-v3")
    page.get_by_role("button", name="Find the cheapest plan").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
    page.get_by_role("link", name="Change the question").click()
    expect(page.locator("#scenario")).to_have_value(re.compile("deepseek"))


def no_plan(page: Page, base: str) -> None:
    """Where there is no plan, a way out is one button away."""
    page.goto(base + "/?scenario=infeasible-latency")
    page.get_by_role("button", name="Find the cheapest plan").click()
    expect(page.get_by_role("heading", name="Ways out, re-solved")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Plan it so").first.click()
    expect(page.locator(".amount .figure")).to_be_visible(timeout=PATIENCE_MS)


def keyboard_alone(page: Page, base: str) -> None:
    """From the address to a plan and to why not, without a pointer."""
    page.goto(base)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    _tab_to(page, "Find the cheapest plan")
    page.keyboard.press("Enter")
    expect(page.locator(".amount .figure")).to_be_visible(timeout=PATIENCE_MS)
    _tab_to(page, "a10")
    page.keyboard.press("Enter")
    expect(page.locator("#why-not-answer .lead")).to_be_visible(timeout=PATIENCE_MS)


def narrow(page: Page, base: str) -> None:
    """At 400 pixels nothing stands beside the page."""
    page.set_viewport_size(NARROW)
    for address in ("/", "/?scenario=office-hours"):
        page.goto(base + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    _planned(page, base)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def accessible(page: Page, base: str, axe: str) -> None:
    """axe-core finds nothing serious on the page to ask on and on a plan, light and dark."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(base + "/?scenario=office-hours")
        _no_serious_fault(page, axe)
        _planned(page, base)
        _slider(page)
        page.get_by_text("The whole report").click()
        _no_serious_fault(page, axe)
        page.get_by_role("button", name="by precision").click()
        expect(page.locator("table.sorted")).to_be_visible(timeout=PATIENCE_MS)
        _no_serious_fault(page, axe)
        page.goto(base + "/?scenario=infeasible-latency")
        page.get_by_role("button", name="Find the cheapest plan").click()
        expect(page.get_by_role("heading", name="Ways out, re-solved")).to_be_visible(timeout=PATIENCE_MS)
        _no_serious_fault(page, axe)


def too_many_watch(page: Page, base: str) -> None:
    """Whose events are refused, for others watch already, sees the progress and the plan all the same, by asking."""
    page.route("**/events", lambda route: route.fulfill(status=429))
    page.goto(base + "/?scenario=qwen3-32b")
    page.locator("#requests_per_second").fill("11")
    expect(page.locator("#scenario")).to_have_value(re.compile("requests_per_second: 11"))
    with page.expect_response(re.compile(r"/v1/jobs/[^/]+$"), timeout=PATIENCE_MS):
        page.get_by_role("button", name="Find the cheapest plan").click()
    expect(page.locator(".job .phase")).to_be_visible()
    expect(page.locator(".amount .figure")).to_be_visible(timeout=PATIENCE_MS)


def queue_full(page: Page, base: str) -> None:
    """Of a server with one place in its queue: who comes third is told when to come again, and keeps the question."""
    for rate in (50, 60, 70):
        page.goto(base + "/?scenario=deepseek-v3")
        page.locator("#requests_per_second").fill(str(rate))
        expect(page.locator("#scenario")).to_have_value(re.compile(f"requests_per_second: {rate}"))
        page.get_by_role("button", name="Find the cheapest plan").click()
        page.wait_for_load_state()
    expect(page.get_by_role("alert")).to_contain_text("Ask again in")
    expect(page.locator("#scenario")).to_have_value(re.compile("requests_per_second: 70"))


def _planned(page: Page, base: str) -> None:
    """The page of the plan of chat-8b."""
    page.goto(base)
    page.get_by_role("button", name="Find the cheapest plan").click()
    expect(page.locator(".amount .figure")).to_be_visible(timeout=PATIENCE_MS)


def _slider(page: Page) -> Locator:
    """The first slider, whose frontier is asked for when it comes into sight."""
    page.get_by_role("heading", name="Move a limit").scroll_into_view_if_needed()
    slider = page.locator("input.slide").first
    expect(slider).to_be_visible(timeout=PATIENCE_MS)
    return slider


def _tab_to(page: Page, name: str) -> None:
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
    raise AssertionError(f"no way to {name} by Tab")


def _no_serious_fault(page: Page, axe: str) -> None:
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    serious = [
        f"{fault['id']}: {fault['help']}: {fault['nodes'][0]['html'][:200]}"
        for fault in found
        if fault["impact"] in SERIOUS
    ]
    assert not serious, "\n".join(serious)
