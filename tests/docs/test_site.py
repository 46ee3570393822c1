"""The site is built as `make docs` builds it, leads somewhere, and looks right in a browser."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check_links import broken_links

pytest.importorskip("sphinx", reason="needs the extra docs")
pytest.importorskip("furo", reason="needs the extra docs")

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SHOWN = (
    "index",
    "pyg-loop",
    "how-it-works",
    "which-augmentation",
    "_generated/commands/compare",
    "_generated/methods",
    "_generated/notebooks/molecules",
    "api/ifmixup",
)


def test_the_site(tmp_path):
    site = tmp_path / "html"
    strict = ["-W", "--keep-going", "-n", "-q"]
    folders = ["-d", str(tmp_path / "doctrees"), str(ROOT / "docs"), str(site)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, *folders],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert broken_links(site) == []
    page = (site / "api" / "ifmixup.html").read_text(encoding="utf-8")
    for name in ("mix", "mix_batch", "recover", "compare", "IfMixup"):
        assert f'id="ifmixup.{name}"' in page
    if CHROMIUM is None:
        pytest.skip("built and linked; how it looks needs chromium")
    evaluate(site)


def evaluate(site):
    """No page asks the network for anything, complains, or is wider than a phone."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    troubles = []

    def route(each):
        if each.request.url.startswith(("file:", "data:")):
            each.continue_()
        else:
            troubles.append(f"asked for {each.request.url}")
            each.abort()

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": 390, "height": 844}, color_scheme=scheme
            )
            context.set_default_timeout(120_000)
            page = context.new_page()
            page.route("**/*", route)
            page.on("console", lambda message: troubles.append(message.text))
            page.on("pageerror", lambda error: troubles.append(str(error)))
            for name in SHOWN:
                page.goto((site / f"{name}.html").as_uri())
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width == 390, f"{name} is {width} pixels wide"
                missing = "[...document.images].filter(i => i.complete && !i.naturalWidth).length"
                assert page.evaluate(missing) == 0, name
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            bright = sum(map(int, re.findall(r"\d+", ground)[:3])) > 3 * 128
            assert bright == (scheme == "light")
            context.close()
        browser.close()
    assert troubles == []


def test_figures_of_a_page_are_those_that_were_measured():
    """What the page says of random labels is what docs/make_images.py wrote down."""
    measured = json.loads((ROOT / "docs/images/random-labels.json").read_text())
    page = " ".join((ROOT / "docs/how-we-measure.md").read_text(encoding="utf-8").split())
    assert f"{100 * measured['paper']['mean']:.1f} % with `paper`" in page
    assert f"{100 * measured['paper']['last']:.1f} % after their last epoch" in page
    assert f"{100 * measured['holdout']['mean']:.1f} % with `holdout`" in page
    assert f"± {100 * measured['holdout']['std_repeats']:.1f} over the repeats" in page
