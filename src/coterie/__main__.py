"""The program `coterie`, also as `python -m coterie`."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; Ctrl-C while it is loaded is answered as later."""
    try:
        from coterie.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. Nothing was written.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
