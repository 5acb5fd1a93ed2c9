"""Replay of recordings: as a time line at the terminal, in the viewer, or as a film."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.interrupts import interruptible
from hydro_sim_core.cli.options import (
    FRAME_RATE,
    PICTURE_SIZE,
    CameraOption,
    FrameRateOption,
    FullScaleOption,
    PackageDirOption,
    SizeOption,
    ViewAddressOption,
    ViewPortOption,
    ViewTokenOption,
    given_scale,
    positive_and_finite,
    refuse_without,
    viewer_options,
)
from hydro_sim_core.cli.outputs import OverwriteOption, files_to_write, optional, out_option
from hydro_sim_core.cli.status import bar
from hydro_sim_core.drawing.pressure_scale import PressureScale, in_unit
from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.film import (
    FILM_SUFFIXES,
    AddFrame,
    check_film,
    check_frame_count,
    open_page_film,
)
from hydro_sim_core.recording import recording_files
from hydro_sim_core.replay import Player, Recording, TimeLine
from hydro_sim_core.viewer.frame import ViewFrame, largest_pressure
from hydro_sim_core.viewer.viewer import Viewer

_WRITTEN = {"film": FILM_SUFFIXES}
#: Rows of the printed time line.
_ROWS = 16
_BAR_LENGTH = 24


def replay(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE.mcap...", help="Recording and what continues it, folder, or files."),
    ],
    view: Annotated[bool, typer.Option("--view", help="Show it in the browser, until Ctrl-C.")] = False,
    speed: Annotated[
        float,
        typer.Option(metavar="X", help="Recorded seconds a second.", callback=positive_and_finite),
    ] = 1.0,
    begin: Annotated[
        float | None,
        optional("Where to begin, s (default: the start)", "T", "--from"),
    ] = None,
    view_port: ViewPortOption = None,
    view_address: ViewAddressOption = None,
    view_token: ViewTokenOption = None,
    loop: Annotated[bool, typer.Option("--loop", help="With --view: begin anew at the end.")] = False,
    out: Annotated[list[Path] | None, out_option(_WRITTEN)] = None,
    overwrite: OverwriteOption = False,
    fps: FrameRateOption = FRAME_RATE,
    size: SizeOption = PICTURE_SIZE,  # type: ignore[assignment]  # the option's parser reads it
    camera: CameraOption = "iso",
    full_scale: FullScaleOption = None,
    package_dir: PackageDirOption = None,
) -> None:
    """Play recordings: print their time line, show them in the browser, or make a film of them."""
    if view and out:
        raise typer.BadParameter("--view and --out exclude each other")
    if not view:
        refuse_without("--view", context, "loop", "view_port", "view_address", "view_token")
    video = files_to_write(out, overwrite, _WRITTEN).get("film")
    if video is None:
        refuse_without("a film (--out FILE.mp4)", context, "fps", "size", "camera")
        if not view:
            refuse_without("--view or a film", context, "full_scale")
    else:
        check_film(video, fps)
    console = output.make_console()
    scale = given_scale(full_scale)
    with TimeLine(_open(files, scale, package_dir or ())) as line:
        start = line.start if begin is None else begin
        line.check(start)
        if view:
            viewer = Viewer(viewer_options(view_port, view_address, view_token))
            view_line(Player(line, speed, start, loop), viewer, console)
        elif video is not None:
            places = film_places(video, start, line.end, fps, speed)
            with open_page_film(video, fps, line.scale, size, camera) as add:
                film_line(line, places, add, video, console)
            console.print(f"{output.shown(video)}: {len(places)} frames", highlight=False)
        else:
            if console.is_terminal:
                _play_in_line(line, start, speed, console)
            console.print(time_line_table(line, start))
            console.print(topics_table(line))


def view_line(player: Player, viewer: Viewer, console: Console) -> None:
    """Show a time line in the browser until Ctrl-C.

    Args:
        player: Player of the time line.
        viewer: Viewer that shows it and passes on requests from its pages.
        console: Output for the page's address.

    Raises:
        InputError: The page cannot be served, or the recording is damaged.
    """
    viewer.on_command = player.obey
    with interruptible() as stop:
        try:
            url = viewer.start()
            console.print(f"watch it at {url} until Ctrl-C", markup=False, highlight=False, soft_wrap=True)
            player.run(viewer.show_scene, viewer.show, stop, watched=lambda: viewer.watching > 0)
        finally:
            viewer.close()


def film_line(line: TimeLine, places: Sequence[float], add: AddFrame, film: Path, console: Console) -> None:
    """Add the frames of a time line at recorded times (s) to a film, with a progress bar.

    Raises:
        InputError: The recording is damaged, or the film cannot be written.
    """
    for place in bar(places, f"filming {output.shown(film)}", console):
        add(line.scene(place), line.frame(place))


def film_places(film: Path, start: float, end: float, rate: float, speed: float) -> list[float]:
    """Recorded times of a film's frames: both ends included if they are a whole number of frames apart.

    Raises:
        InputError: There are too many frames.
    """
    intervals = (end - start) * rate / speed * (1.0 + 1e-9)
    check_frame_count(film, 1.0 + intervals, "give a lower --fps, a higher --speed or a later --from")
    return [min(end, start + number * speed / rate) for number in range(1 + math.floor(intervals))]


def time_line_table(line: TimeLine, start: float) -> Table:
    """Table of contact at equally spaced instants from ``start`` (s) to the end.

    Raises:
        InputError: The recording is damaged.
    """
    places = np.linspace(start, line.end, _ROWS)
    frames = [line.frame(place) for place in places]
    pairs = list(dict.fromkeys(pair for frame in frames for pair in _forces(frame)))
    totals = [sum(_forces(frame).values()) for frame in frames]
    longest = max(totals) or 1.0  # the largest force may be 0
    table = Table(box=box.SIMPLE_HEAD)
    several = len(line.recordings) > 1
    unit = line.scale.unit
    headings = (
        *(["file"] if several else []),
        "time, s",
        "faces",
        f"peak, {unit[0]}",
        *(f"{output.shown(pair)}, N" for pair in pairs),
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    if pairs:
        table.add_column("all forces")
    for place, frame, total in zip(places, frames, totals, strict=True):
        forces = _forces(frame)
        largest = largest_pressure(frame.patches)
        # Along a line or at a point there is a force without a pressure.
        peak = "" if frame.patches and largest == 0.0 else in_unit(largest, unit)
        cells = [f"{frame.time:.3f}", str(_faces(frame)), peak]
        cells += [f"{forces[pair]:.3f}" if pair in forces else "" for pair in pairs]
        length = "█" * round(_BAR_LENGTH * total / longest) if pairs else ""
        file = [str(line.locate(place)[0] + 1)] if several else []
        table.add_row(*file, *cells, *([length] if pairs else []))
    return table


def topics_table(line: TimeLine) -> Table:
    """Table of the topics in the recordings, and how each is shown."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("topic", "type", "messages", "shown as"):
        table.add_column(heading, justify="right" if heading == "messages" else "left", overflow="fold")
    topics: dict[tuple[str, str, str], int] = {}
    for recording in line.recordings:
        for topic in recording.topics:
            key = (topic.name, topic.type_name, topic.shows)
            topics[key] = topics.get(key, 0) + topic.count
    for (name, type_name, shows), count in topics.items():
        table.add_row(output.shown(name), output.shown(type_name), str(count), output.shown(shows))
    return table


def _open(
    files: Sequence[Path], scale: PressureScale | None, package_dirs: Sequence[Path]
) -> list[Recording]:
    for number, path in enumerate(files):
        if os.path.realpath(path) in map(os.path.realpath, files[:number]):
            raise InputError(path, "", "is given twice", "name every recording once")
    with ExitStack() as stack:
        paths = recording_files(files[0]) if len(files) == 1 else files
        recordings = [stack.enter_context(Recording(path, scale, package_dirs)) for path in paths]
        stack.pop_all()
        return recordings


def _play_in_line(line: TimeLine, start: float, speed: float, console: Console) -> None:
    """Play in one line of the terminal, to the end or until Ctrl-C."""
    columns = (BarColumn(), TextColumn("{task.description}"))
    with interruptible() as stop, Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=line.end - line.start)
        player = Player(line, speed, start)

        def show(frame: ViewFrame) -> None:
            force = sum(_forces(frame).values())
            text = f"t = {frame.time:8.3f} s | {_faces(frame):5d} contact faces | {force:8.3f} N"
            progress.update(task, completed=(frame.timeline_time or 0.0) - line.start, description=text)
            if frame.paused:
                stop.set()

        player.run(lambda _: None, show, stop)


def _forces(frame: ViewFrame) -> dict[str, float]:
    """Magnitude of the contact force of every pair of bodies in contact, N."""
    sums: dict[str, NDArray[np.float64]] = {}
    for patch in frame.patches:
        pair = f"{patch.name_a} on {patch.name_b}"
        sums[pair] = sums.get(pair, np.zeros(3)) + patch.force_on_b
    return {pair: float(np.linalg.norm(force)) for pair, force in sums.items()}


def _faces(frame: ViewFrame) -> int:
    return sum(len(patch.faces.counts) for patch in frame.patches)
