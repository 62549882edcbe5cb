"""Our pages in a real browser: no error, nothing fetched from elsewhere, every picture to be seen.

``make test-browser`` runs this, with a Chromium that ``CHROMIUM`` names or that is on the path. Screenshots
are left in ``browser/``, to be looked at.
"""

from __future__ import annotations

import functools
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import r1nes
from r1nes.cli import main

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "browser"
ARGUMENTS = [  # no sandbox, for root in a container; and nothing on its own account
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("there is no Chromium on the path; CHROMIUM may name one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder, and where it is served on this machine."""
    folder = tmp_path_factory.mktemp("site")
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def opened(browser: Browser, address: str, name: str, *, dark: bool = False, width: int = 1200) -> Page:
    """The page, with all that would be wrong with any of ours checked."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address, wait_until="networkidle")
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    assert complaints == []
    own = ("/".join(address.split("/")[:3]) + "/", "data:")
    assert [url for url in requests if not url.startswith(own)] == []
    return page


def pictures(page: Page) -> list[dict[str, float]]:
    """Of each picture, its own size and that on the page, once it was scrolled to."""
    found = []
    for image in page.locator("article img, body > figure img").all():
        image.scroll_into_view_if_needed()
        shown = image.bounding_box()
        size = image.evaluate("image => image.complete ? image.naturalWidth : 0")
        found.append({"own": size, "shown": 0.0 if shown is None else shown["width"]})
    return found


def overflow(page: Page) -> float:
    """By how much the page is wider than its window."""
    return float(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def rosenbrock(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


@pytest.mark.parametrize("variables", [2, 30])
def test_the_page_of_a_run(browser: Browser, served: tuple[Path, str], variables: int) -> None:
    folder, address = served
    checkpoint = folder / f"run{variables}.r1nes"
    r1nes.minimize(
        rosenbrock,
        np.zeros(variables),
        restarts=1,
        max_evals=8000,
        ftarget=1e-9,
        checkpoint=checkpoint,
        rng=1,
    )
    assert main(["report", str(checkpoint)]) == 0
    page = opened(browser, f"{address}/run{variables}.html", f"report{variables}")
    seen = pictures(page)
    assert len(seen) == 2
    assert all(picture["own"] > 300 and picture["shown"] > 300 for picture in seen)
    assert page.locator("h1").inner_text().endswith(":rosenbrock")
    page.locator("summary").click()
    assert page.locator("details tr").count() == variables + 1
    assert overflow(opened(browser, f"{address}/run{variables}.html", "report-narrow", width=400)) <= 0


def test_the_page_of_the_paper(browser: Browser, served: tuple[Path, str]) -> None:
    folder, address = served
    out = folder / "paper"
    shutil.copytree(ROOT / "results" / "paper", out)
    (out / "index.html").unlink()
    assert main(["paper", "--full", "--no-run", "--out", str(out)]) == 0
    page = opened(browser, f"{address}/paper/index.html", "paper")
    seen = pictures(page)
    assert len(seen) == len(list(out.glob("*.svg"))) > 0
    assert all(picture["own"] > 300 and picture["shown"] > 300 for picture in seen)
    assert page.locator("td.holds").count() > 0


@pytest.mark.parametrize("dark", [False, True])
def test_the_site(browser: Browser, served: tuple[Path, str], dark: bool) -> None:
    folder, address = served
    site = folder / "docs"
    if not site.exists():
        built = ROOT / "docs" / "_build" / "html"
        assert built.exists(), "make docs comes first"
        shutil.copytree(built, site)
    suffix = "-dark" if dark else ""
    page = opened(browser, f"{address}/docs/index.html", f"docs{suffix}", dark=dark)
    assert [picture["own"] > 300 and picture["shown"] > 300 for picture in pictures(page)] == [True, True]
    links = page.locator(".sidebar-tree a").evaluate_all("links => links.map(link => link.href)")
    assert len(links) > 12
    if dark:
        return
    for link in dict.fromkeys(url.partition("#")[0] for url in links):
        name = link.partition("/docs/")[2].removesuffix(".html").replace("/", "-")
        linked = opened(browser, link, f"docs-{name}")
        assert all(picture["own"] > 100 and picture["shown"] > 100 for picture in pictures(linked)), link
        linked.context.close()


def test_the_search_of_the_site_works(browser: Browser, served: tuple[Path, str]) -> None:
    page = opened(browser, f"{served[1]}/docs/search.html?q=checkpoint", "docs-search")
    page.locator("ul.search li").first.wait_for()
    assert page.locator("ul.search li").count() > 1
