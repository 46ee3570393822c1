"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import shutil
from dataclasses import replace

import pytest

from ifmixup.data import load
from ifmixup.report.report import report
from ifmixup.study.baselines import Baseline
from ifmixup.study.examples import save_examples
from ifmixup.training.packed import pack
from stored_runs import records_of, result, stored, study_of

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

    def open_page(width=1280, scheme="light", address=address):
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
    assert page.locator("#explorer-1 .points path").count() == 22  # now B is the larger part
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


@pytest.fixture(scope="module")
def one_study(tmp_path_factory):
    """The page of a user's own study: a grid, a guess without graphs, and the user's graphs."""
    folder = tmp_path_factory.mktemp("one") / "mine"
    study = study_of(folds=6, datasets=["mine.csv"], grid={"num_layers": [3, 5]})
    values = tuple((0, fold, 0.9) for fold in range(6))
    guess = Baseline("majority class", "mine.csv", {"accuracy": values})
    study = replace(study, baselines=(guess,))
    records = records_of(
        study, lambda run, _: result((0.5, 0.6 + run.fold / 100), validation=(0.1, 0.2))
    )
    stored(folder, study, records)
    save_examples(folder, replace(pack(load("MUTAG")), name="mine.csv"))
    path = folder / "report.html"
    report([folder], path)
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_answer_comes_first_and_a_cut_table_shows_it(opened, one_study, width, scheme):
    page = opened(width, scheme, one_study)
    first = page.locator("header p:not(.brand)").first
    assert first.inner_text().startswith("No model beats the majority class: accuracy ")
    assert first.bounding_box()["y"] < 300
    assert page.evaluate("document.documentElement.scrollWidth") == width
    cut = "[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth + 1)"
    assert page.evaluate(f"{cut}.every(s => s.parentElement.classList.contains('more'))")
    assert page.evaluate(f"{cut}.length") == page.locator(".frame.more").count()
    if width == 400:
        frame = page.locator(".frame.more").first
        fades = frame.evaluate("f => getComputedStyle(f, '::after').backgroundImage")
        assert "gradient" in fades
        assert page.locator(".hint:visible").count() == page.locator(".frame.more:visible").count()
        frame.locator(".scroll").evaluate("s => { s.scrollLeft = s.scrollWidth }")
        sync_api.expect(frame).to_have_count(1)
        page.wait_for_function("document.querySelectorAll('.frame.before').length == 1")
    text = page.inner_text("body")
    assert "of mine.csv. λ is the weight of A" in text
    assert "MUTAG" not in text  # nothing about datasets that were not asked for
    empty = (
        "[...document.querySelectorAll('h2, h3')].filter("
        "h => !h.nextElementSibling || (h.tagName == 'H3' && "
        "/^H[23]$/.test(h.nextElementSibling.tagName)))"
    )
    assert page.evaluate(f"{empty}.length") == 0  # no heading over nothing
    assert page.troubles == []
