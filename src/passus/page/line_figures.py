"""The figures of the page, as the specification that the paper figures have too (figures/export.py), for one view.

Eval points go through the functions of the paper figures. Training metrics keep their names and styles, and go through columns.
"""

from typing import Any

from passus.figures.places import check_x
from passus.metric_names import Y_AXES, check_y
from passus.page.axis_places import OF_SETTINGS
from passus.page.collection import RunCollection
from passus.page.eval_figure import eval_figure
from passus.page.live_run import EVALS, METRICS, SETTINGS
from passus.page.metric_figure import metric_figure, signal_panels
from passus.page.view import View

Json = dict[str, Any]


def line_figure(collection: RunCollection, view: View) -> Json:
    """Returns the specification of a view."""
    names = [*collection.metric_names(), "step"]
    check_x(view.x, names)
    if view.kind == "signals":
        return metric_figure(collection, view, signal_panels(names))
    if view.y in Y_AXES:
        return eval_figure(collection, view)
    check_y(view.y, names)
    return metric_figure(collection, view, {view.y: view.y})


def sources_of(view: View) -> list[str]:
    """Returns the parts of runs that the figure of a view is made of."""
    is_eval_figure = view.kind == "curves" and view.y in Y_AXES
    of_steps = not is_eval_figure or view.x not in OF_SETTINGS or view.train
    return [SETTINGS, *([METRICS] if of_steps else []), *([EVALS] if is_eval_figure else [])]
