"""The site: `make docs` builds it in `docs/_build`; nothing is fetched, neither now nor by a reader."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "r1nes"
author = "The r1nes developers"
copyright = "the r1nes developers"  # noqa: A001 - Sphinx calls it so
release = version = version_of("r1nes")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design"]
myst_enable_extensions = ["colon_fence"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = False
myst_heading_anchors = 3
highlight_language = "text"  # of indented blocks: commands, formulas, pieces that need a cluster

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
autoclass_content = "both"  # the keywords of Optimizer are documented in its __init__
napoleon_use_ivar = True

html_theme = "furo"
html_title = "r1nes"
html_favicon = "figures/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
