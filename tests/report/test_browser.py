"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import shutil

import pytest

from ifmixup.report.report import report

pytest.importorskip("plotly")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs /usr/bin/chromium")
WAIT = 120_000  # milliseconds: other tests run beside this one


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory, paper_folder, own_folder):
    path = tmp_path_factory.mktemp("page") / "report.html"
    report([paper_folder, own_folder], path)
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """Open the page; its messages and what it asks the network for are kept."""
    contexts = []

    def open_page(width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        contexts.append(context)
        context.set_default_timeout(WAIT)
        page = context.new_page()
        page.troubles = []

        def route(each):
            if each.request.url.startswith("file:"):
                each.continue_()
            else:
                page.troubles.append(f"asked for {each.request.url}")
                each.abort()

        page.route("**/*", route)
        page.on("console", lambda message: page.troubles.append(message.text))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("dialog", lambda dialog: page.troubles.append(dialog.message))
        page.goto(address)
        page.wait_for_selector("body[data-drawn=all]")
        return page

    yield open_page
    for context in contexts:
        context.close()


def test_every_plot_is_drawn_and_nothing_leaves_the_page(opened):
    page = opened()
    assert page.locator(".plot").count() > 10
    undrawn = "[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.main-svg'))"
    assert page.evaluate(f"{undrawn}.length") == 0
    assert page.locator(".js-plotly-plot").count() == page.locator(".plot").count()
    assert page.locator("img").count() == 0
    assert page.troubles == []


def test_the_slider_mixes_by_keyboard(opened):
    page = opened()
    slider = page.locator("#explorer-lam")
    colours = "[...document.querySelectorAll('#explorer-0 .points path')].map(p => p.style.fill)"
    before, said = page.evaluate(colours), page.inner_text("#explorer-says")
    slider.focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    assert page.inner_text("#explorer-value") == "0.550"
    assert page.inner_text("#explorer-says") != said
    assert page.evaluate(colours) != before
    slider.fill("20")  # λ = 0.5, where the two cannot be told apart
    assert "λ = 0.5" in page.inner_text("#explorer-says")
    assert page.locator("#explorer-1 .points path").count() == 0
    slider.fill("4")
    assert page.locator("#explorer-1 .points path").count() == 12  # now B is the larger part
    assert page.troubles == []


def test_other_methods_can_be_chosen(opened):
    page = opened()
    said = page.inner_text("#methods-says")
    page.locator("#methods-name").select_option("S-Mixup")
    other = page.inner_text("#methods-says")
    assert "of both" in other
    assert other != said
    page.locator("#methods-draw").fill("3")
    assert page.inner_text("#methods-value") == "3"
    assert page.locator("#methods-0 .points path").count() > 5
    assert page.troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_in_both_colours(opened, scheme):
    page = opened(390, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    wide = "[...document.querySelectorAll('.plot svg')].some(s => s.clientWidth > 390)"
    assert not page.evaluate(wide)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.querySelector('.xtick text')).fill")
    bright = [sum(map(int, colour[4:-1].split(","))) for colour in (ground, ink)]
    assert (bright[0] > bright[1]) == (scheme == "light")
    assert page.troubles == []


def test_colours_follow_the_system_while_the_page_is_open(opened):
    page = opened()
    label = page.locator(".xtick text").first
    before = label.evaluate("text => getComputedStyle(text).fill")
    page.emulate_media(color_scheme="dark")
    sync_api.expect(label).not_to_have_css("fill", before, timeout=WAIT)
    assert page.troubles == []


def test_the_skip_link_is_the_first_stop(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"
