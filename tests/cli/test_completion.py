"""Completion by the shell: what it offers, and that it imports no more than it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from rich.emoji import Emoji
from typer.main import get_command

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.cli import app
from hydro_sim_core.cli.completion import scenes_and_files
from hydro_sim_core.description.solver_choices import friction_laws
from hydro_sim_core.experiments import EXPERIMENTS
from support.command_line import commands

#: The program under its own name, as completion goes by it.
PROGRAM = "import sys; sys.argv[0] = 'hydro-sim'; from hydro_sim_core.cli import main; main()"


def offered(words, folder):
    """What a shell offers after ``words``, of which the last is incomplete."""
    environment = {
        **os.environ,
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_HYDRO_SIM_COMPLETE": "complete_bash",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_commands_are_offered(tmp_path):
    assert offered(["hydro-sim", ""], tmp_path) == get_command(app).list_commands(None)
    assert offered(["hydro-sim", "sn"], tmp_path) == ["snapshot"]


def test_options_and_their_values_are_offered(tmp_path):
    assert offered(["hydro-sim", "run", "--over"], tmp_path) == ["--overwrite"]
    assert offered(["hydro-sim", "run", "--camera", "t"], tmp_path) == ["top"]
    laws = [f"solver.friction={name}" for name in friction_laws()]
    assert offered(["hydro-sim", "run", "--set", "solver.fr"], tmp_path) == laws


def test_experiments_are_offered(tmp_path):
    wanted = [name for name in EXPERIMENTS if name.startswith("in")]
    assert offered(["hydro-sim", "validate", "in"], tmp_path) == wanted


def test_scenes_that_ship_and_scene_files_here_are_offered(tmp_path, monkeypatch):
    for name in ("drop.yaml", "arm.urdf", "notes.txt"):
        (tmp_path / name).touch()
    assert offered(["hydro-sim", "check", "dr"], tmp_path) == ["drop_box", "drop.yaml"]
    monkeypatch.chdir(tmp_path)
    assert scenes_and_files(".urdf")("") == [*shipped_scenes(), "arm.urdf"]


def test_names_of_plug_ins_are_offered(tmp_path):
    """A broken one leaves nothing to offer, and no traceback on the command line."""
    info = tmp_path / "extra-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[hydro_sim.friction_laws]\nwet = extra:WET\n")
    module = tmp_path / "extra.py"
    module.write_text(
        "from dataclasses import replace\n"
        "from hydro_sim_core.description.solver_choices import _LAWS\n"
        "WET = replace(_LAWS[0], name='wet')\n"
    )
    code = "from hydro_sim_core.cli.completion import solver_settings as s; import json; print(json.dumps(s('')))"

    def found():
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert "solver.friction=wet" in found()
    module.write_text("raise RuntimeError('broken')\n")
    assert found() == []


def test_commands_are_offered_without_importing_the_engine(tmp_path):
    """A tab must not take longer than the help."""
    code = f"import atexit; atexit.register(lambda: print('numpy' in sys.modules)); {PROGRAM}"
    environment = {**os.environ, "COMP_WORDS": "hydro-sim ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "_HYDRO_SIM_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split()[-1] == "False", done


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_it_is_installed_for_bash_and_works_there(tmp_path):
    """In a shell that has read what was installed, a tab after ``snap`` gives ``snapshot``."""
    program = tmp_path / "bin" / "hydro-sim"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom hydro_sim_core.cli import main\nmain()\n")
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": path}
    shell = f"{shutil.which('bash')} --norc -c"
    done = subprocess.run(
        [*shell.split(), f"{program} --install-completion; true"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "completion installed" in done.stdout, done
    asked = f"""
        source {tmp_path}/.bash_completions/hydro-sim.sh
        COMP_WORDS=(hydro-sim snap) COMP_CWORD=1
        _hydro_sim_completion hydro-sim
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run([*shell.split(), asked], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["snapshot"], done


def test_no_help_becomes_an_emoji():
    """As ``:b:`` would of ``a:b:n``: help is read as markup, where nothing turns that off."""
    texts = [(name, one.help or "") for name, one in commands().items()]
    texts += [
        (name, getattr(part, "help", None) or "") for name, one in commands().items() for part in one.params
    ]
    assert len(texts) > 100
    assert [(name, text) for name, text in texts if Emoji.replace(text) != text] == []
