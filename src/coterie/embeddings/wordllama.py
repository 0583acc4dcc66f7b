"""WordLlama: 256 numbers per word, from 16 MB of weights inside its Python package (`coterie[embeddings]`).

The package is under the MIT licence. It says that its weights were trained from the token embeddings of LLaMA 2 70B,
Phi 3 medium and other models, so the terms of those models (of the Llama 2 Community License among them) may hold for
the weights too. Coterie uses the weights to decide who is grouped with whom; nothing of them gets into a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie.errors import MissingError


def embed(words: Sequence[str]) -> Any:
    """A vector for each word, made of the pieces that the model knows."""
    try:
        import wordllama
    except ImportError:
        raise MissingError(
            "The word vectors of wordllama are not installed. Install coterie[embeddings], or use --embedding none."
        ) from None
    # Its own folder: otherwise it looks for its files in the home folder and on the network.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return model.embed(list(words))
