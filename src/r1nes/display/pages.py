"""HTML pages that need nothing but themselves: rendered from templates, with their figures inside."""

from __future__ import annotations

import base64
from typing import Any

from r1nes.extras import needs


def rendered(package: str, template: str, **values: Any) -> str:
    """Return a page from a ``template`` of ``package``; text in ``values`` is escaped."""
    with needs("jinja2", extra="plot"):
        import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(template).render(**values)


def embedded(svg: bytes) -> str:
    """Return the address of an image that contains the image itself."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
