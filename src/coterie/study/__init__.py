"""Study: a grid of methods and parameters from a TOML file; it resumes where it stopped.

Each cell of the grid is anonymized, verified and measured, and its numbers are kept in a file of its own in the folder
`<study>.results`. A cell that is there already is not computed again; the name of its file is a digest of everything it
depends on, so an edited study computes only what changed. Releases themselves are not kept. A study is there to be
repeated, so its seed is 7 unless it says otherwise. Beside each cell of a method that groups users stands a cell with
random groups.
"""

from coterie.study.file import Cell, Study, load_study
from coterie.study.run import run_study

__all__ = ["Cell", "Study", "load_study", "run_study"]
