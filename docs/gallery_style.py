"""Style of the pictures of the gallery: plain axes."""

from typing import Any


def gallery_style(gallery_conf: Any = None, file_name: Any = None) -> None:
    """Set matplotlib's defaults before each example; the arguments are those of sphinx-gallery."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "axes.edgecolor": "0.7",
            "axes.labelcolor": "0.2",
            "axes.titlecolor": "0.1",
            "font.size": 11,
            "legend.edgecolor": "0.85",
            "legend.fontsize": 10,
            "xtick.color": "0.35",
            "ytick.color": "0.35",
        }
    )
