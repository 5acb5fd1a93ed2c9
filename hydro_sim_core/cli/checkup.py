"""What ``hydro-sim doctor`` looks at. Each check works where others fail: a broken plug-in must not hide the rest."""

from __future__ import annotations

import importlib
import os
import platform
import pwd
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, metadata, requires, version
from importlib.util import find_spec
from pathlib import Path

from hydro_sim_core.errors import InputError

PACKAGE = "hydro-sim-core"

#: States of what was looked at.
OK, MISSING, BROKEN = "ok", "missing", "broken"


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes:
        part: What was looked at.
        state: ``OK``, ``MISSING`` or ``BROKEN``.
        found: What was found.
        mend: What to do about it; empty where nothing is to be done.
        needed: Whether nothing runs without it.
    """

    part: str
    state: str
    found: str
    mend: str = ""
    needed: bool = False


def findings() -> Iterator[Finding]:
    """Results of all checks, one after the other."""
    for check in _CHECKS:
        try:
            yield from check()
        except InputError as error:  # a table that a plug-in has broken; the check of plug-ins names it too
            yield _untold(check, f"{error.source}: {error.problem}", error.mend)
        except ImportError as error:  # of a package that is missing; the check of packages names it too
            yield _untold(check, str(error), "mend what is missing above")


def _untold(check: Callable[[], Iterator[Finding]], why: str, mend: str) -> Finding:
    name = check.__name__.strip("_").replace("_", " ")
    return Finding(name, BROKEN, f"cannot be told: {why}", mend)


# --- Python


def _python() -> Iterator[Finding]:
    wanted = metadata(PACKAGE)["Requires-Python"] or ""
    bounds = [
        tuple(map(int, found[1].split("."))) if (found := re.search(rf"{sign}([\d.]+)", wanted)) else None
        for sign in (">=", "<(?!=)")
    ]
    least, beyond = bounds
    here = sys.version_info[:2]
    fits = (least is None or here >= least) and (beyond is None or here < beyond)
    state, mend = (OK, "") if fits else (BROKEN, f"use a Python that is {wanted}")
    yield Finding("Python", state, f"{platform.python_version()}, {sys.executable}", mend, needed=True)
    yield Finding("hydro-sim", OK, f"{version(PACKAGE)}, {Path(__file__).parents[1]}", needed=True)


def _packages() -> Iterator[Finding]:
    there, missing = _versions(_required(""))
    if missing:
        mend = f"pip install {' '.join(missing)}"
        yield Finding("packages", MISSING, ", ".join(missing), mend, needed=True)
    yield Finding(
        "packages", OK, ", ".join(f"{name} {number}" for name, number in there.items()), needed=True
    )


#: What the optional packages of an extra are for.
_EXTRAS = {
    "plot": "plots",
    "pictures": "pictures and films",
    "point": "one experiment, on point contact",
    "fem": "one experiment, on a layer under pressure",
    "gpu": "contact queries on a GPU",
    "oracles": "comparisons with Drake and Pinocchio",
}


def _extras() -> Iterator[Finding]:
    for extra, purpose in _EXTRAS.items():
        there, missing = _versions(_required(extra))
        found = ", ".join(
            [f"{name} {number}" for name, number in there.items()] + [f"no {one}" for one in missing]
        )
        state, mend = (MISSING, f"pip install '{PACKAGE}[{extra}]'") if missing else (OK, "")
        yield Finding(f"for {purpose}", state, found, mend)


def _required(extra: str) -> list[str]:
    """Names of the packages that the installation says it needs, or that one of its extras needs."""
    names = []
    for text in requires(PACKAGE) or ():
        requirement, _, condition = text.partition(";")
        asked = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", condition)
        if (asked[1] if asked else "") == extra and (name := re.match(r"[\w.-]+", requirement)):
            names.append(name[0])
    return names


def _versions(names: list[str]) -> tuple[dict[str, str], list[str]]:
    """Versions of the packages that are installed, and the names of the others."""
    there, missing = {}, []
    for name in names:
        try:
            there[name] = version(name)
        except PackageNotFoundError:
            missing.append(name)
    return there, missing


# --- plug-ins

#: Tables that plug-ins extend, by the group of their entry points.
_TABLES = {
    "hydro_sim.shapes": "hydro_sim_core.description.shape_types:shape_types",
    "hydro_sim.joints": "hydro_sim_core.description.joint_types:joint_types",
    "hydro_sim.sensors": "hydro_sim_core.description.sensor_types:sensor_types",
    "hydro_sim.friction_laws": "hydro_sim_core.description.solver_choices:friction_laws",
    "hydro_sim.solver_methods": "hydro_sim_core.description.solver_choices:solver_methods",
    "hydro_sim.integrators": "hydro_sim_core.description.solver_choices:integrators",
    "hydro_sim.streams": "hydro_sim_core.messages.streams:stream_kinds",
    "hydro_sim.measures": "hydro_sim_core.sweeps.measures:measures",
    "hydro_sim.tasks": "hydro_sim_core.tasks.registry:tasks",
}
_OF_THE_NODE = "hydro_sim.controllers"


def _plug_ins() -> Iterator[Finding]:
    points = [point for group in (*_TABLES, _OF_THE_NODE) for point in entry_points(group=group)]
    if not points:
        yield Finding("plug-ins", OK, "none")
    for point in points:
        problem = _problem(point)
        package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown package"
        found = f"{point.name} = {point.value}, of {package}"
        if problem is None:
            yield Finding(f"plug-in of {point.group}", OK, found)
        else:
            yield Finding(
                f"plug-in of {point.group}", BROKEN, f"{found}: {problem}", _mend_of(point), needed=True
            )


def _mend_of(point: EntryPoint) -> str:
    name = point.dist.name if point.dist is not None else "the package"
    return f"mend {name}, or remove it: pip uninstall {name}"


def _problem(point: EntryPoint) -> str | None:
    """Why a plug-in does not work, found by asking its table; None if it does."""
    if point.group == _OF_THE_NODE:
        # The node's table needs ROS, so only its presence can be told.
        there = find_spec(point.value.partition(":")[0].partition(".")[0]) is not None
        return None if there else "its module does not exist"
    try:
        point.load()
    except (Exception, SystemExit) as error:  # code of a plug-in may raise anything
        return f"cannot be loaded ({type(error).__name__}: {error})"
    module, _, function = _TABLES[point.group].partition(":")
    try:
        getattr(importlib.import_module(module), function)()
    except InputError as error:
        return error.problem if error.source == point.value else None
    return None


# --- kernels


def _cache_folder() -> Iterator[Finding]:
    from hydro_sim_core.compilation import store

    root = store.cache_root()
    try:
        number = root.stat().st_uid
    except OSError:
        owner = "not made yet"
    else:
        try:
            owner = f"of {pwd.getpwuid(number).pw_name}"
        except KeyError:  # users of containers may have no name
            owner = f"of user {number}"
    kept = store.kernels_are_kept()
    mend = "" if kept else "set HYDRO_SIM_CACHE_DIR to a folder of your own: else every start compiles"
    yield Finding("cache folder", OK if kept else MISSING, f"{root}, {owner}", mend)


def _kernels() -> Iterator[Finding]:
    from hydro_sim_core.cli.compile_kernels import engine_entries
    from hydro_sim_core.compilation import store
    from hydro_sim_core.compilation.builds import callees_first
    from hydro_sim_core.compilation.kernels import INTERPRETED

    if INTERPRETED:
        mend = "unset NUMBA_DISABLE_JIT: without kernels all is a hundred times slower"
        yield Finding("kernels", MISSING, "not used, as NUMBA_DISABLE_JIT is set", mend)
        return
    entries = callees_first(*engine_entries())
    compiled = sum(store.load(entry) is not None for entry in entries)
    state, mend = OK, ""
    if compiled < len(entries):
        state = MISSING
        mend = "hydro-sim compile, about a minute; else the first run compiles those that it needs"
    yield Finding("kernels", state, f"{compiled} of {len(entries)} compiled for this processor", mend)


# --- real time


def _real_time() -> Iterator[Finding]:
    if _may_be_first():
        yield Finding("real-time priority", OK, "permitted")
    else:
        mend = "raise the limit rtprio of this user (/etc/security/limits.conf) or grant CAP_SYS_NICE; for the node's "
        yield Finding(
            "real-time priority", MISSING, "not permitted", f"{mend}parameter realtime_priority alone"
        )
    governors = {
        path.read_text().strip()
        for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    }
    if not governors:
        yield Finding("frequency governor", OK, "none to be seen on this machine")
    elif governors == {"performance"}:
        yield Finding("frequency governor", OK, "performance")
    else:
        mend = "for steady step times: cpupower frequency-set --governor performance"
        yield Finding("frequency governor", MISSING, ", ".join(sorted(governors)), mend)
    cores = len(os.sched_getaffinity(0))
    yield Finding("processor", OK, f"{_processor()}, {cores} of {os.cpu_count()} cores for this process")


def _processor() -> str:
    from hydro_sim_core.cli.output import processor

    return processor()


def _may_be_first() -> bool:
    """Whether a thread may have real-time priority: one that ends at once tries."""
    permitted = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            return
        permitted.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(permitted)


# --- pictures, GPU


def _pictures() -> Iterator[Finding]:
    try:
        yield Finding("browser for pictures", OK, str(_browser()))
    except InputError as error:
        yield Finding("browser for pictures", MISSING, error.problem, error.mend)
    ffmpeg = shutil.which("ffmpeg")
    mend = "" if ffmpeg else "apt install ffmpeg; films can be .gif without it"
    yield Finding("ffmpeg for films", OK if ffmpeg else MISSING, ffmpeg or "not on PATH", mend)


def _browser() -> Path:
    """The browser that draws pictures.

    Raises:
        InputError: There is none.
    """
    from hydro_sim_core.pictures.browser import find_browser

    try:
        return find_browser()
    except InputError:
        if find_spec("playwright") is None:
            raise
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:  # it may have downloaded one
        return find_browser(playwright)


def _gpu() -> Iterator[Finding]:
    from numba import cuda

    if cuda.is_available():
        name = cuda.get_current_device().name
        yield Finding("GPU", OK, name.decode() if isinstance(name, bytes) else str(name))
    else:
        yield Finding("GPU", MISSING, "no CUDA", "nothing, unless you want contact queries on a GPU")


# --- ROS

#: Optional interfaces of the node, and what it has only with them.
INTERFACES = {
    "tf2_msgs": "/tf",
    "control_msgs": "follow_joint_trajectory, controller_state, gripper_cmd",
    "hydro_sim_msgs": "~/contact_patches, ~/step_many, ~/spawn, ~/delete, ~/place",
    "simulation_interfaces": "~/get_simulator_features and its kin",
}


def _ros() -> Iterator[Finding]:
    if find_spec("rclpy") is None:
        mend = f"source /opt/ros/jazzy/setup.bash, or pip install '{PACKAGE}[ros]'; needed by the node alone"
        yield Finding("ROS", MISSING, "no rclpy", mend)
        return
    distribution = os.environ.get("ROS_DISTRO", "from wheels")
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    yield Finding("ROS", OK, f"{distribution}, domain {domain}")
    node = find_spec("hydro_sim") is not None
    mend = "" if node else "pip install ros2_ws/src/hydro_sim, or colcon build and source install/setup.bash"
    yield Finding("the node", OK if node else MISSING, "hydro_sim" if node else "no hydro_sim", mend)
    for package, purpose in INTERFACES.items():
        if find_spec(package) is not None:
            yield Finding(package, OK, purpose)
        else:
            source = "colcon build in ros2_ws" if package == "hydro_sim_msgs" else _apt(package)
            yield Finding(package, MISSING, f"the node is without {purpose}", source)


def _apt(package: str) -> str:
    return f"apt install ros-jazzy-{package.replace('_', '-')}"


_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _packages,
    _plug_ins,
    _cache_folder,
    _kernels,
    _real_time,
    _pictures,
    _extras,
    _gpu,
    _ros,
)
