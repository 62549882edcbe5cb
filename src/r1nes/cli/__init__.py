"""The command line, ``r1nes COMMAND``.

Each command is a module: ``add_to`` adds its parser, ``run`` executes it. ``main.COMMANDS`` lists them.
To add a flag for a keyword of ``minimize``, add a line to ``FLAGS`` in ``run.py``, or in ``minimization.py``
if ``resume`` should accept it as well. Any other flag goes into ``add_to`` and ``run`` of its command.
"""

from r1nes.cli.main import main

__all__ = ["main"]
