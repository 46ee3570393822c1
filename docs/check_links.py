"""Whether every link within the built site leads somewhere: ``python check_links.py FOLDER``."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a page loads by itself: none of it may come from elsewhere.
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("source", "src"),
    ("iframe", "src"),
}
_NOT_LOADED = {"canonical", "search", "index", "next", "prev"}  # kinds of <link>: only named


class Page(HTMLParser):
    """The anchors of a page, where it leads to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep ids, names, links and what is loaded."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name, value in values.items():
            if name in ("href", "src"):
                self.links.append(value)
                kinds = set(values.get("rel", "").split())
                if (tag, name) in _LOADED and not kinds & _NOT_LOADED:
                    self.loaded.append(value)


def broken_links(folder: Path) -> list[str]:
    """What is wrong with the links of the pages in ``folder``, one line each."""
    root = folder.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    wrong = [] if pages else [f"{folder} holds no pages"]
    for path, page in pages.items():
        name = path.relative_to(root)
        for link in page.loaded:
            if _is_elsewhere(link) and not link.startswith("data:"):
                wrong.append(f"{name}: loads {link} from elsewhere")
        for link in page.links:
            if not _is_elsewhere(link):
                problem = _problem(link, path, root, pages)
                if problem:
                    wrong.append(f"{name}: {link} {problem}")
    return list(dict.fromkeys(wrong))


def _is_elsewhere(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def _problem(link: str, path: Path, root: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(link)
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root):
        return "leaves the site"
    if not target.is_file():
        return "leads to a file that is not there"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "leads to an anchor that is not there"
    return None


def main(arguments: list[str]) -> int:
    """Print what is wrong; the exit code is 1 if something is."""
    if len(arguments) != 1:
        print("usage: check_links.py FOLDER", file=sys.stderr)
        return 2
    wrong = broken_links(Path(arguments[0]))
    for line in wrong:
        print(line)
    if not wrong:
        print("Every link within the site leads somewhere.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
