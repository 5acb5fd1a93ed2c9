"""Where the files that ship with the engine are found."""

from pathlib import Path

import pytest

from hydro_sim_core import assets

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A folder of installed packages with an engine that has nothing beside its code."""
    package = tmp_path / "site-packages" / "hydro_sim_core"
    package.mkdir(parents=True)
    monkeypatch.setattr(assets, "files", lambda _: package)
    return package


@pytest.mark.parametrize("name", sorted(assets.FOLDERS))
def test_a_checkout_has_them_at_its_top(name):
    assert assets.folder(name) == ROOT / assets.FOLDERS[name]
    assert any(assets.folder(name).iterdir())


def test_what_is_installed_comes_first(installation):
    """Also where somebody's pyproject.toml and folder of that name lie beside it."""
    (installation.parent / "pyproject.toml").touch()
    (installation.parent / "urdf").mkdir()
    (installation / "shared" / "urdf").mkdir(parents=True)
    assert assets.folder("urdf") == installation / "shared" / "urdf"


def test_packages_of_others_are_not_taken_for_ours(installation):
    """A package of such a name may lie beside an installed engine; the error names both places."""
    (installation.parent / "config").mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        assets.folder("config")
    assert str(installation / "shared" / "config") in str(caught.value)
    assert str(installation.parent / "config") in str(caught.value)
