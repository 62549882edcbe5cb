"""Every keyword of ``Optimizer`` and ``minimize``, defined once: its type, default, check and help.

``@takes(Settings)`` makes a function accept these keywords and passes them to it as one checked object. The
command line takes its help texts from here, a checkpoint stores ``Settings.to_plain()``, and the reference
documentation is generated from the same fields.
"""

from r1nes.settings.run import KEYWORDS, LIMITS, RunSettings
from r1nes.settings.search import OF_METHOD, Settings, method_settings, renamed
from r1nes.settings.signatures import takes
from r1nes.settings.step_size import largest_std

__all__ = [
    "KEYWORDS",
    "LIMITS",
    "OF_METHOD",
    "RunSettings",
    "Settings",
    "largest_std",
    "method_settings",
    "renamed",
    "takes",
]
