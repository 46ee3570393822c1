import pytest
from check_links import broken_links, main


@pytest.fixture
def site(tmp_path):
    def make(**pages):
        for name, text in pages.items():
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        return tmp_path

    return make


def test_links_that_lead_somewhere(site, capsys):
    folder = site(
        index='<a href="other.html#there">x</a><a href="#top" id="top">y</a><img src="a%20b.png">',
        other='<p id="there"></p><a href="https://example.org/">out</a><a href="mailto:a@b">m</a>',
    )
    (folder / "a b.png").write_bytes(b"")
    assert broken_links(folder) == []
    assert main([str(folder)]) == 0
    assert "leads somewhere" in capsys.readouterr().out


def test_every_kind_of_broken_link_is_named(site, capsys):
    folder = site(
        index='<a href="gone.html">x</a><a href="index.html#gone">y</a><a href="../up.html">z</a>',
        other='<script src="https://cdn.example.org/x.js"></script><img src="//e.org/a.png">',
    )
    assert broken_links(folder) == [
        "index.html: gone.html leads to a file that is not there",
        "index.html: index.html#gone leads to an anchor that is not there",
        "index.html: ../up.html leaves the site",
        "other.html: loads https://cdn.example.org/x.js from elsewhere",
        "other.html: loads //e.org/a.png from elsewhere",
    ]
    assert main([str(folder)]) == 1
    assert "gone.html" in capsys.readouterr().out


def test_a_folder_without_pages_is_no_site(tmp_path, capsys):
    assert "holds no pages" in broken_links(tmp_path)[0]
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
