"""Download the page's third-party files in the versions given in vendored.json.

    python hydro_sim_core/viewer/page/vendor/renew.py

To take another version, change it in vendored.json first. Needs npm. Writes the files and the SHA-512 of the bytes in
the package; with ``replaced``, the committed file differs from the package's in that piece of text.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).parent
LIST = FOLDER / "vendored.json"


def renew() -> None:
    """Update every file and its hash."""
    packages = json.loads(LIST.read_text())
    for package in packages:
        with TemporaryDirectory() as folder, tarfile.open(_pack(package, Path(folder))) as archive:
            for name, entry in package["files"].items():
                member = archive.extractfile(f"package/{entry['from']}")
                assert member is not None
                _write(FOLDER / name, entry, member.read())
    LIST.write_text(json.dumps(packages, indent=2) + "\n")


def _pack(package: dict[str, Any], folder: Path) -> Path:
    wanted = f"{package['package']}@{package['version']}"
    subprocess.run(["npm", "pack", wanted, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.tgz"))


def _write(path: Path, entry: dict[str, Any], content: bytes) -> None:
    entry["sha512"] = hashlib.sha512(content).hexdigest()
    if "replaced" in entry:
        before, after = (text.encode() for text in entry["replaced"])
        assert content.count(before) == 1
        content = content.replace(before, after)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    renew()
