"""What tests share is in one package; beside tests there is nothing that a name as common as ``poses`` could hide."""

from pathlib import Path

from support.packaging.files import ROOT, our_files


def misplaced(paths: list[Path]) -> list[str]:
    """Modules among the tests that are neither tests nor in the package, nor made for a program of their own."""
    return [
        str(path)
        for path in paths
        if path.parts[0] == "tests"
        and path.parts[1] not in ("support", "workspace")
        and not path.name.startswith("test_")
        and path.name != "conftest.py"
    ]


def test_modules_that_tests_share_are_in_the_package():
    assert misplaced(our_files(".py")) == [], "move them to tests/support"


def test_a_module_beside_tests_is_found():
    paths = [
        Path("tests/contact/poses.py"),
        Path("tests/contact/test_a.py"),
        Path("tests/support/contact/poses.py"),
    ]
    assert misplaced(paths) == ["tests/contact/poses.py"]
    assert (ROOT / "tests" / "support" / "__init__.py").exists()
