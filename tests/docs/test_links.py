"""Links lead to files and headings that exist, on GitHub as on the site (which Sphinx checks)."""

import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt

from support.docs.blocks import PAGES, ROOT

MARKDOWN = MarkdownIt("commonmark")


def targets(page):
    """What links and pictures of a page point to within the checkout."""
    for token in MARKDOWN.parse(page.read_text()):
        for part in token.children or ():
            address = part.attrGet("href") or part.attrGet("src") or ""
            if address and not re.match(r"[a-z]+:", address):
                yield address


def anchors(page):
    """Anchors that GitHub gives a page's headings."""
    tokens = MARKDOWN.parse(page.read_text())
    titles = [text.content for opening, text in pairwise(tokens) if opening.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    for target in targets(page):
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{target} is not there"
        assert found.is_relative_to(ROOT), f"{target} is outside the checkout"
        assert not anchor or anchor in anchors(found), f"{found.name} has no heading #{anchor}"


def test_links_are_found():
    links = [target for page in PAGES for target in targets(page)]
    assert len(links) > 50
    assert any("#" in link for link in links)
