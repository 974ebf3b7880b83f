"""Pictures of an episode from above: the paths as a PNG, the drive as a GIF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dp_multiagent.driving.floor import Floor, Pose
from dp_multiagent.errors import DpMultiagentError, MissingPackageError
from dp_multiagent.models.gridmap import DEADLY, WALL, Cell
from dp_multiagent.sim.mjcf import RADIUS

WALL_COLOUR, DEADLY_COLOUR, GRID_COLOUR = '#3b3b3b', '#d9534f', '#cccccc'
ROBOT_COLOURS = ('#1f77b4', '#ff7f0e', '#2ca02c', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f')
PIXELS = 64  # per cell, in the GIF
SAMPLE_NS = 200_000_000
FRAME_MS = 40  # five times real time
MOST_FRAMES = 400


class Recording:
    """What robots truly did and privately told in one episode."""

    def __init__(self, floor: Floor, names: Sequence[str], targets: Sequence[Cell]) -> None:
        self._floor = floor
        self._names = tuple(names)
        self._targets = tuple(targets)
        self._times: list[int] = []
        self._poses: list[tuple[Pose, ...]] = []
        self._told: list[list[tuple[int, Cell]]] = [[] for _ in names]

    def observe(self, time_ns: int, poses: Sequence[Pose]) -> None:
        """Note where all robots are, five times a simulated second."""
        if not self._times or time_ns >= self._times[-1] + SAMPLE_NS:
            self._times.append(time_ns)
            self._poses.append(tuple(poses))

    def hear(self, time_ns: int, robot: int, cell: Cell) -> None:
        """Note what a robot told privately."""
        self._told[robot].append((time_ns, cell))

    def save(self, directory: Path, name: str, title: str) -> tuple[Path, Path]:
        """Write NAME.png and NAME.gif and return their paths."""
        png, gif = directory / f'{name}.png', directory / f'{name}.gif'
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._save_gif(gif)
            self._save_png(png, title)
        except OSError as error:
            raise DpMultiagentError(f'{directory}: cannot be written: {error.strerror}') from None
        return png, gif

    def _save_png(self, path: Path, title: str) -> None:
        figure, axes = _new_axes(self._floor)
        for i, name in enumerate(self._names):
            colour = ROBOT_COLOURS[i % len(ROBOT_COLOURS)]
            true = [(poses[i].x, poses[i].y) for poses in self._poses]
            told = [self._floor.centre(cell) for _, cell in self._told[i]]
            axes.plot(*zip(*true, strict=True), color=colour, linewidth=2.5, label=f'{name}, true')
            axes.plot(*self._floor.centre(self._targets[i]), '*', color=colour, markersize=18)
            if told:
                # A little aside, so that paths in the same cells can be told apart.
                aside = (0.06 + 0.05 * i) * self._floor.cell_size
                xs, ys = zip(*((x + aside, y + aside) for x, y in told), strict=True)
                axes.plot(xs, ys, '--.', color=colour, linewidth=1, label=f'{name}, told')
        axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False)
        axes.set_title(title, fontsize=10)
        figure.savefig(path, format='png', dpi=100, bbox_inches='tight')

    def _save_gif(self, path: Path) -> None:
        stride = -(-len(self._times) // MOST_FRAMES)
        background = _new_image(self._floor)
        frames = [self._frame(background, k) for k in range(0, len(self._times), stride)]
        frames[0].save(
            path,
            format='GIF',
            save_all=True,
            append_images=frames[1:],
            duration=FRAME_MS,
            loop=0,
        )

    def _frame(self, background: Any, k: int) -> Any:
        from PIL import ImageDraw

        image = background.copy()
        draw = ImageDraw.Draw(image)
        radius = RADIUS / self._floor.cell_size * PIXELS
        for i, pose in enumerate(self._poses[k]):
            colour = ROBOT_COLOURS[i % len(ROBOT_COLOURS)]
            told = [cell for time, cell in self._told[i] if time <= self._times[k]]
            if told:
                draw.rectangle(
                    _box(_pixel(self._floor, *self._floor.centre(told[-1])), 26 - 4 * i),
                    outline=colour,
                    width=2,
                )
            draw.ellipse(_box(_pixel(self._floor, pose.x, pose.y), radius), fill=colour)
        return image


def _new_axes(floor: Floor) -> tuple[Any, Any]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    except ImportError:
        raise MissingPackageError('recording needs matplotlib: pip install matplotlib') from None
    grid, size = floor.grid, floor.cell_size
    figure = Figure(figsize=(3 + 0.8 * grid.columns, 1 + 0.8 * grid.rows))
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for r, row in enumerate(grid.drawing):
        for c, sign in enumerate(row):
            x, y = floor.centre((r, c))
            corner = (x - size / 2, y - size / 2)
            axes.add_patch(
                Rectangle(corner, size, size, facecolor=_colour(sign), edgecolor=GRID_COLOUR)
            )
    axes.set(xlabel='x in m', ylabel='y in m', aspect='equal')
    axes.autoscale_view()
    return figure, axes


def _new_image(floor: Floor) -> Any:
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise MissingPackageError('recording needs Pillow: pip install pillow') from None
    grid = floor.grid
    image = Image.new('RGB', (grid.columns * PIXELS, grid.rows * PIXELS))
    draw = ImageDraw.Draw(image)
    for r, row in enumerate(grid.drawing):
        for c, sign in enumerate(row):
            corner = (c * PIXELS, r * PIXELS, (c + 1) * PIXELS - 1, (r + 1) * PIXELS - 1)
            draw.rectangle(corner, fill=_colour(sign), outline=GRID_COLOUR)
    return image


def _colour(sign: str) -> str:
    return {WALL: WALL_COLOUR, DEADLY: DEADLY_COLOUR}.get(sign, '#ffffff')


def _pixel(floor: Floor, x: float, y: float) -> tuple[float, float]:
    column = (x - floor.origin.x) / floor.cell_size
    row = floor.grid.rows - (y - floor.origin.y) / floor.cell_size
    return column * PIXELS, row * PIXELS


def _box(middle: tuple[float, float], radius: float) -> tuple[float, float, float, float]:
    x, y = middle
    return x - radius, y - radius, x + radius, y + radius
